import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// From a finished transfer to an app that has handled its events.
@Suite struct TransferEngineSessionsTests {
  private static let size: Int64 = 100_000

  @Test func deliversTheFileThenTheCompletion() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let client = fixture.client()
      let attached = try await client.begin()
      #expect(attached?.willFinishEvents == false && attached?.nextTaskIdentifier == 1)
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      let first = try await client.nextEvent()
      let download = try #require(first.download)
      #expect(BytePattern().difference(toFile: download.path, count: Self.size) == nil)
      #expect(download.byteCount == Self.size && download.response?.status == 200)
      let second = try await client.nextEvent()
      let completion = try #require(second.completion)
      #expect(completion.failure == nil && completion.countOfBytesReceived == Self.size)
      #expect([first.sequence, second.sequence] == [1, 2])
      try await client.acknowledge([first, second])
      #expect(fixture.names("complete") == [] && fixture.names("delivery") == [] && fixture.names("partial") == [])
      // There was nothing pending when the app attached, so the end of events is not announced.
      #expect(!client.messages.all.contains { if case .push(.eventsFinished) = $0 { true } else { false } })
    }
  }

  @Test func redeliversEventsWithAFreshFileAfterACrashOfTheApp() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let (killed, path) = try await fixture.appWithItsEvents(server)
      // It moved the file away before it could say so.
      try FileManager.default.moveItem(atPath: path, toPath: fixture.folder.path + "/moved")
      killed.disconnect()

      let next = fixture.client()
      try await next.greet()
      let attached = try #require(try await next.attach())
      #expect(attached.pendingEventCount == 2 && attached.willFinishEvents && attached.nextTaskIdentifier == 2)
      #expect(attached.page.tasks.map(\.status.state) == [.completed])
      try await next.ask(.startDelivery(SessionReference(session: "s")))
      let again = try await next.nextEvent()
      let second = try #require(again.download)
      #expect(second.path != path)
      #expect(BytePattern().difference(toFile: second.path, count: Self.size) == nil)
      let end = try await next.nextEvent()
      #expect([again.sequence, end.sequence] == [1, 2])
      try await next.acknowledge([again])
      try await next.acknowledge([end])
      try await next.eventsFinished()
      #expect(BytePattern().difference(toFile: fixture.folder.path + "/moved", count: Self.size) == nil)
      #expect(fixture.names("complete") == [] && fixture.names("delivery") == [])
    }
  }

  /// Changes that an app makes to the file that it was given.
  static let changes: [(String, @Sendable (String) throws -> Void)] = [
    ("writes", { path in try overwrite(path) { try $0.write(contentsOf: Data("changed".utf8)) } }),
    ("truncates", { path in try overwrite(path) { try $0.truncate(atOffset: 1) } }),
    (
      "appends",
      { path in
        try overwrite(path) {
          try $0.seekToEnd()
          try $0.write(contentsOf: Data("more".utf8))
        }
      }
    ),
    ("removes", { path in try FileManager.default.removeItem(atPath: path) }),
    ("closes", { path in _ = chmod(path, 0) }),
    (
      "replaces by a link",
      { path in
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/hostname")
      }
    ),
  ]

  private static func overwrite(_ path: String, _ change: (FileHandle) throws -> Void) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try change(file)
    try file.close()
  }

  /// The app changes the file, and ends before it acknowledges it; once more in the next life of the service.
  @Test(arguments: changes.indices) func redeliversTheFileAsItWasReceivedWhateverTheAppDid(index: Int) async throws {
    let (name, change) = Self.changes[index]
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let (killed, path) = try await fixture.appWithItsEvents(server)
      try change(path)
      killed.disconnect()
      let next = fixture.client()
      try await next.begin()
      let second = try #require(try await next.nextEvent().download)
      #expect(BytePattern().difference(toFile: second.path, count: Self.size) == nil, "\(name)")
      try change(second.path)
      next.disconnect()
      let later = try await fixture.nextLife()
      let last = later.client()
      try await last.begin()
      let event = try await last.nextEvent()
      let third = try #require(event.download)
      #expect(BytePattern().difference(toFile: third.path, count: Self.size) == nil, "\(name)")
      try await last.acknowledge([event])
      try await last.acknowledge([try await last.nextEvent()])
      #expect(later.names("complete") == [] && later.names("delivery") == [])
    }
  }

  /// Another program has changed it in the service's folder.
  @Test func aFileThatIsLostIsAnErrorOfATaskThatIsNotRepeated() async throws {
    try await withEngine(serving: { _ in .ok("abc") }) { fixture, server in
      let (killed, _) = try await fixture.appWithItsEvents(server) { $0.request.method = "POST" }
      #expect(truncate(fixture.files.complete(1), 1) == 0)
      killed.disconnect()
      let next = fixture.client()
      try await next.begin()
      let event = try await next.nextEvent()
      #expect(event.completion?.failure?.code == URLError.Code.cannotOpenFile.rawValue)
      // The rest of the file is removed with the acknowledgement.
      try await next.acknowledge([event])
    }
  }

  @Test func pushesNothingBeforeDeliveryIsStarted() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let client = fixture.client()
      try await client.greet()
      _ = try await client.attach()
      let watcher = fixture.client()
      try await watcher.greet()
      try await watcher.ask(.watch(Watch()))
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      _ = try await watcher.next {
        if case .transferChanged(let status) = $0, status.state == .completed { true } else { nil }
      }
      #expect(client.messages.all.allSatisfy { if case .push = $0 { false } else { true } })
      try await client.ask(.startDelivery(SessionReference(session: "s")))
      #expect(try await client.nextEvent().sequence == 1)
    }
  }

  @Test func sendsNoMoreEventsThanTheWindowHolds() async throws {
    try await withEngine(serving: { _ in .ok("x") }, { $0.deliveryWindow = 4 }) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create((1...6).map { .download(server.url("/\($0)").absoluteString, task: $0) })
      var events: [SequencedEvent] = []
      for _ in 1...4 { events.append(try await client.nextEvent()) }
      try await eventually("all six to be over") {
        try fixture.store.eventCount(of: 1) == 12
      }
      await fixture.settle()
      let sent = client.messages.all.filter { if case .push(.event) = $0 { true } else { false } }
      #expect(sent.count == 4)
      // An app that does not read gets none at all, and the rest once it does.
      client.stopReading()
      try await client.acknowledge(events)
      client.startReading()
      for _ in 5...8 { events.append(try await client.nextEvent()) }
      try await client.acknowledge(Array(events.suffix(4)))
      for _ in 9...12 { events.append(try await client.nextEvent()) }
      #expect(events.map(\.sequence) == Array(1...12))
      for identifier in 1...6 {
        #expect(events.filter { $0.taskIdentifier == identifier }.map { $0.completion == nil } == [true, false])
      }
    }
  }

  @Test(arguments: ["removed", "cut"]) func aFileThatIsGoneIsLoadedAgain(change: String) async throws {
    let resource = FileResource(size: Self.size)
    try await withEngine(serving: resource) { fixture, server in
      let (killed, _) = try await fixture.appWithItsEvents(server)
      killed.disconnect()
      await fixture.settle()
      let path = fixture.files.complete(1)
      if change == "cut" { #expect(truncate(path, 1) == 0) } else { try FileManager.default.removeItem(atPath: path) }
      let client = fixture.client()
      try await client.begin()
      let event = try await client.nextEvent()
      let download = try #require(event.download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: Self.size) == nil)
      #expect(server.heads.count == 2)
      let end = try await client.nextEvent()
      #expect(try #require(end.completion).failure == nil)
      try await client.acknowledge([event, end])
      try await client.eventsFinished()
      #expect(fixture.names("complete") == [] && fixture.names("delivery") == [])
    }
  }

  /// Its bytes may be in the file that the app was given before, which is not removed with the acknowledgement.
  @Test func aLostFileWhoseRequestIsNotRepeatedIsAFailureThatNamesWhatIsLeft() async throws {
    try await withEngine(serving: { _ in .ok("abc") }) { fixture, server in
      let (killed, _) = try await fixture.appWithItsEvents(server) { $0.request.method = "POST" }
      killed.disconnect()
      await fixture.settle()
      try FileManager.default.removeItem(atPath: fixture.files.complete(1))
      let client = fixture.client()
      try await client.begin()
      let event = try await client.nextEvent()
      let failure = try #require(event.completion?.failure)
      #expect(failure.code == URLError.Code.cannotOpenFile.rawValue && server.heads.count == 1)
      try await client.acknowledge([event])
      try await client.eventsFinished()
      #expect(fixture.names("complete") == [] && fixture.names("delivery") == [])
      let path = try #require(try fixture.files.completeSetAside([1])[1])
      #expect(failure.message.contains("is kept in \(path)."))
      #expect(FileManager.default.contents(atPath: path) == Data("abc".utf8))
    }
  }

  @Test func theLossOfAFileIsToldOnceItIsOnTheDisk() async throws {
    try await withEngine(serving: { _ in .ok("abc") }) { fixture, server in
      let (killed, _) = try await fixture.appWithItsEvents(server) { $0.request.method = "POST" }
      #expect(truncate(fixture.files.complete(1), 1) == 0)
      killed.disconnect()
      let (client, other) = (fixture.client(), fixture.client("/other"))
      try await other.begin("o")
      try await client.greet()
      _ = try await client.attach()
      await fixture.settle()
      try await fixture.holdingQueue {
        client.tell(.startDelivery(SessionReference(session: "s")))
        try await eventually("the loss to be written") {
          fixture.engine.queue.sync { fixture.engine.changesUnderWay == 1 }
        }
        try await other.ask(.listTransfers(ListTransfers()))
        #expect(client.events.isEmpty)
      }
      let event = try await client.nextEvent()
      #expect(event.completion?.failure?.code == URLError.Code.cannotOpenFile.rawValue)
      #expect(try fixture.store.eventCount(of: 1) == 1)
      try await client.acknowledge([event])
      try await client.eventsFinished()
    }
  }

  @Test func announcesTheEndOfEventsAfterRunningTransfers() async throws {
    let gate = Gate()
    try await withEngine(serving: { request in
      if request.path == "/slow" { try await gate.wait() }
      return .ok("x")
    }) { fixture, server in
      let killed = fixture.client()
      try await killed.begin()
      _ = try await killed.create([
        .download(server.url("/fast").absoluteString), .download(server.url("/slow").absoluteString, task: 2),
      ])
      _ = try await killed.nextEvent()
      killed.disconnect()
      let client = fixture.client()
      try await client.begin()
      let early = [try await client.nextEvent(), try await client.nextEvent()]
      try await client.acknowledge(early)
      #expect(!client.messages.all.contains { if case .push(.eventsFinished) = $0 { true } else { false } })
      gate.open()
      let late = [try await client.nextEvent(), try await client.nextEvent()]
      #expect(late.map(\.taskIdentifier) == [2, 2])
      try await client.acknowledge(late)
      try await client.eventsFinished()
    }
  }
}
