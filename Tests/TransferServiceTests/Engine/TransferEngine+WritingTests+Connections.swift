import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Apps that connect, attach and go while the disk keeps changes waiting.
extension TransferEngineWritingTests {
  /// The process lives, and connects anew: what its former connection has asked for comes first.
  @Test func aSessionIsHandedOverOnceItsEndedConnectionIsDone() async throws {
    try await withScene { fixture, _, _, other in
      let process = EngineFixture.ourselves
      let (former, next) = (fixture.client("/third", process: process), fixture.client("/third", process: process))
      try await former.begin("u")
      #expect(try await former.create([.download("http://h/u", task: 1)], session: "u").count == 1)
      try await next.greet()
      let (suspended, attached) = try await fixture.holdingQueue {
        let suspended = former.tell(.suspendTasks(TaskSelection(session: "u", taskIdentifiers: [1])))
        former.disconnect()
        let attached = next.tell(.attach(Attach(session: "u")))
        try await expectService(other)
        #expect(next.reply(to: attached) == nil)
        return (suspended, attached)
      }
      guard case .attached(let page) = try await next.awaitReply(to: attached) else {
        Issue.record("\(String(describing: next.reply(to: attached)))")
        return
      }
      #expect(page.page.tasks.map(\.status.state) == [.suspended])
      guard case .done = try await former.awaitReply(to: suspended) else {
        Issue.record("not suspended")
        return
      }
    }
  }

  /// A client that hears nothing gives the connection up.
  @Test func aSignOfLifeComesWhileTheDiskKeepsAConnectionWaiting() async throws {
    try await withScene { fixture, _, app, _ in
      try await fixture.holdingQueue {
        app.tell(Self.priority(1))
        guard case .version = try await app.ask(.version) else {
          Issue.record("no sign of life")
          return
        }
      }
    }
  }

  /// The supervisor asks a service only while it is busy. One that hangs right after its answer has tasks that wait.
  @Test(arguments: [true, false]) func theServiceIsBusyBeforeAnAppIsAnswered(startsTask: Bool) async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let (app, other) = (fixture.client(), fixture.client("/other"))
      try await app.begin()
      try await other.begin("o")
      let told = Recorder<Bool>()
      fixture.engine.watchActivity { told.record($0) }
      _ = try await other.ask(.version)
      #expect(told.all == [false])
      let number = try await fixture.holdingQueue {
        let task = TransferDescription.download("http://h/1", running: startsTask)
        let number = app.tell(.createTasks(CreateTasks(session: "s", tasks: [task])))
        try await expectService(other)
        #expect(told.all == [false, true])
        return number
      }
      _ = try await app.awaitReply(to: number)
      try await expectService(other)
      #expect(told.all == (startsTask ? [false, true] : [false, true, false]))
    }
  }

  @Test func theFirstRequestOfANewAppWaitsForTheDisk() async throws {
    try await withScene { fixture, _, _, other in
      let new = fixture.client("/new")
      try await new.greet()
      let numbers = try await fixture.holdingQueue {
        let numbers = [new.tell(.listTransfers(ListTransfers())), new.tell(.attach(Attach(session: "n")))]
        try await expectService(other)
        #expect(numbers.allSatisfy { new.reply(to: $0) == nil })
        return numbers
      }
      guard case .transfers = try await new.awaitReply(to: numbers[0]),
        case .attached = try await new.awaitReply(to: numbers[1])
      else {
        Issue.record("refused")
        return
      }
    }
  }

  @Test func oneOfTwoProcessesGetsASession() async throws {
    try await withScene { fixture, _, _, other in
      let processes = (0..<2).map { _ in fixture.client(process: EngineFixture.ourselves) }
      for process in processes { try await process.greet() }
      let numbers = try await fixture.holdingQueue {
        let numbers = processes.map { $0.tell(.attach(Attach(session: "t"))) }
        try await expectService(other)
        return numbers
      }
      guard case .attached = try await processes[0].awaitReply(to: numbers[0]),
        case .refused(let refusal) = try await processes[1].awaitReply(to: numbers[1])
      else {
        Issue.record("not one of them")
        return
      }
      #expect(refusal.reason == .inUse)
    }
  }

  /// A session without tasks is forgotten with the history, unless a connection holds it.
  @Test func aSessionThatIsBeingAttachedToIsNotForgotten() async throws {
    try await withScene { fixture, _, _, other in
      let first = fixture.client()
      try await first.begin("t")
      first.disconnect()
      await fixture.settle()
      let next = fixture.client()
      try await next.greet()
      let number = try await fixture.holdingQueue {
        let number = next.tell(.attach(Attach(session: "t")))
        fixture.engine.enter { $0.shortenHistory() }
        try await expectService(other)
        return number
      }
      guard case .attached = try await next.awaitReply(to: number) else {
        Issue.record("refused")
        return
      }
      await fixture.settle()
      #expect(try await next.create([.download("http://h/", running: false)], session: "t").count == 1)
    }
  }
}
