import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// The order of requests of one connection, and of changes that two connections make.
extension TransferEngineWritingTests {
  @Test func theRequestsOfAConnectionAreCarriedOutInTheirOrder() async throws {
    try await withScene { fixture, _, app, other in
      let numbers = try await fixture.holdingQueue {
        let numbers = [
          app.tell(.createTasks(CreateTasks(session: "s", tasks: [.download("http://h/5", task: 5)]))),
          app.tell(Self.priority(5)), app.tell(.suspendTasks(Self.tasks(5))),
          app.tell(.showTransfer(TransferReference(transfer: 5))),
          app.tell(.cancelTask(CancelTask(session: "s", taskIdentifier: 5))),
        ]
        try await expectService(other)
        #expect(numbers.allSatisfy { app.reply(to: $0) == nil })
        return numbers
      }
      _ = try await app.awaitReply(to: numbers[4])
      let answered = app.messages.all.compactMap { message -> UInt64? in
        if case .reply(let number, _) = message, numbers.contains(number) { number } else { nil }
      }
      #expect(answered == numbers)
      guard case .transfer(let shown) = app.reply(to: numbers[3]) else {
        Issue.record("not shown")
        return
      }
      #expect(shown.description.priority == 0.875 && shown.status.state == .suspended)
      let event = try await app.nextEvent()
      #expect(event.taskIdentifier == 5 && event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
    }
  }

  /// Each of the two writes the whole description.
  @Test(arguments: [false, true]) func changesOfTwoConnectionsAreBothKept(isReversed: Bool) async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      let requests: [(FakeClient, ClientRequest)] = [
        (app, Self.priority(2)), (person, Self.url(2, "http://h/new")),
      ]
      let told = try await fixture.holdingQueue {
        let told = (isReversed ? requests.reversed() : requests).map { ($0.0, $0.0.tell($0.1)) }
        try await expectService(other)
        return told
      }
      for (client, number) in told {
        let reply = try await client.awaitReply(to: number)
        #expect(reply == .done)
      }
      let description = try #require(try fixture.store.transfer(2)).description
      #expect(description.priority == 0.875 && description.request.url == "http://h/new")
    }
  }

  /// It is in the queue and in lists while its record is written down a second time.
  @Test(arguments: ofNewTask) func aRequestWaitsForTheTaskThatIsBeingCreated(change: Change) async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      let numbers = try await fixture.disk.holding(.sync, path: NewTaskFolder.name) { isHeld in
        let task = TransferDescription.download("http://h/5", task: 5, running: false)
        let created = app.tell(.createTasks(CreateTasks(session: "s", tasks: [task])))
        try await eventually("the record to wait for the disk") { isHeld() }
        #expect(try fixture.store.transfer(5) != nil)
        let changed = person.tell(change.request)
        try await expectService(other)
        #expect(person.reply(to: changed) == nil)
        return (created: created, changed: changed)
      }
      if case .refused(let refusal) = try await person.awaitReply(to: numbers.changed) {
        Issue.record("refused: \(refusal.message)")
      }
      #expect(try change.isDone(fixture.store))
      await fixture.settle()
      // The app is told of the task before it is told of its end.
      let toApp = app.messages.all.drop { message in
        if case .reply(numbers.created, .created) = message { false } else { true }
      }
      let ends = app.events.filter { $0.taskIdentifier == 5 }
      let endsBehind = toApp.count { message in
        if case .push(.event(let event)) = message { event.taskIdentifier == 5 } else { false }
      }
      #expect(!toApp.isEmpty && endsBehind == ends.count)
    }
  }

  /// An app that sends one change after the other keeps no other connection from its own.
  @Test func changesOfASubjectAreMadeInTheOrderInWhichTheyWereAskedFor() async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      try await person.watch()
      let numbers = try await fixture.holdingQueue {
        let first = app.tell(Self.priority(2))
        let edit = person.tell(Self.url(2, "http://h/new"))
        let later = (0..<20).map { _ in app.tell(Self.priority(2)) }
        try await expectService(other)
        return (edit: edit, ofApp: [first] + later)
      }
      for number in numbers.ofApp {
        let reply = try await app.awaitReply(to: number)
        #expect(reply == .done)
      }
      let reply = try await person.awaitReply(to: numbers.edit)
      #expect(reply == .done)
      // The watching person is told of each change before it is answered.
      let changes = person.messages.all.prefix { message in
        if case .reply(numbers.edit, _) = message { false } else { true }
      }.count { message in
        if case .push(.transferChanged(let status)) = message { status.transfer == 2 } else { false }
      }
      #expect(changes == 2, "that of the app and its own")
    }
  }

  @Test func limitsOfTwoConnectionsAreBothKept() async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      let night = BandwidthLimit(bytesPerSecond: 4_000, hours: DailyHours("22:00-06:00"))
      let told = try await fixture.holdingQueue {
        let told = [
          (app, app.tell(Self.limit(.app))),
          (person, person.tell(.limit(LimitTransfers(subject: .app, limit: night)))),
        ]
        try await expectService(other)
        return told
      }
      for (client, number) in told {
        let reply = try await client.awaitReply(to: number)
        #expect(reply == .done)
      }
      #expect(try fixture.store.limitsBesidesSessions()[.app(1)]?.limits.count == 2)
    }
  }
}
