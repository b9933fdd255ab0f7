import Foundation
import LoopbackServer
import Synchronization
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The fields of responses: not readable in the service's folder while their events wait, and told to the app.
@Suite struct TransferEngineAnswersTests {
  private static let cookie = "cookie-4711"
  private static let asked = "asked-4711"
  private static let secrets = [cookie, asked]
  private static let fields = [("Set-Cookie", "a=\(cookie)"), ("ETag", "\"1\"")]

  private static func task(_ server: LoopbackServer) -> TransferDescription {
    .download(server.url("/a").absoluteString, headers: [HeaderField("X-Own", asked)])
  }

  private func cookie(of response: ResponseSummary?) -> String? {
    response?.headers.first { $0.name == "Set-Cookie" }?.value
  }

  @Test(arguments: [true, false]) func theyAreSealedUntilTheyAreAcknowledged(hasKeychain: Bool) async throws {
    let folder = try TemporaryFolder()
    let secrets = FileSecretStore(path: try folder.subfolder("secrets") + "/file")
    try await withServer({ _ in .ok("in", fields: HeaderList(Self.fields)) }) { server in
      try await withEngine(secrets: hasKeychain ? secrets : nil) { fixture in
        let app = fixture.client()
        try await app.begin()
        let id = try #require(try await app.create([Self.task(server)]).first)
        #expect(cookie(of: try await app.nextEvent().download?.response) == "a=\(Self.cookie)")
        let told = try #require(try await app.nextEvent().completion)
        #expect(told.transactions?.first?.headers.contains { $0.name == "X-Own" } == true)
        let pushed = app.messages.all.compactMap {
          if case .push(.responseReceived(let received)) = $0 { received.response } else { nil }
        }
        #expect(pushed.map { cookie(of: $0) } == ["a=\(Self.cookie)"])
        try fixture.expectNone(of: Self.secrets)

        let next = try await fixture.nextLife()
        let again = next.client()
        let attached = try #require(try await again.begin())
        #expect(attached.page.tasks.map { cookie(of: $0.response) } == ["a=\(Self.cookie)"])
        #expect(cookie(of: try await again.nextEvent().download?.response) == "a=\(Self.cookie)")
        #expect(try await again.nextEvent().completion == told)
        try next.expectNone(of: Self.secrets)
        try await again.acknowledge(again.events)
        #expect(try next.store.transfer(id)?.response?.sealedHeaders == nil)
      }
    }
  }

  /// In the row of a part, and in the journal beside it.
  @Test func theyAreSealedWhileTheRestIsAwaited() async throws {
    let head = ReplyStep.head(200, fields: HeaderList(Self.fields + [("Content-Length", "200000")]))
    let handler: LoopbackServer.Handler = { request in
      request.value("Range") == nil
        ? Reply([head, .pattern(BytePattern(), count: 100_000), .stall]) : Reply([.readRequestBody(), .stall])
    }
    try await withServer(handler) { server in
      try await withEngine { fixture in
        let app = fixture.client()
        try await app.begin()
        let id = try #require(try await app.create([Self.task(server)]).first)
        _ = try await app.next { if case .progress = $0 { true } else { nil } }
        let next = try await fixture.nextLife()
        #expect(try next.files.journals.read(id)?.response?.status == 200)
        #expect(try next.store.transfer(id)?.head.committedOffset ?? 0 > 0)
        try next.expectNone(of: Self.secrets)
        let again = next.client()
        let attached = try #require(try await again.begin())
        #expect(attached.page.tasks.map { cookie(of: $0.response) } == ["a=\(Self.cookie)"])
        try await again.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
        let end = try #require(try await again.nextEvent().completion)
        #expect(cookie(of: end.response) == "a=\(Self.cookie)", "the end goes on with what the queue has")
        try next.expectNone(of: Self.secrets)
      }
    }
  }

  @Test func aLostKeyTakesTheFieldsAlone() async throws {
    try await withServer({ _ in .ok("in", fields: HeaderList(Self.fields)) }) { server in
      try await withEngine { fixture in
        let app = fixture.client()
        try await app.begin()
        _ = try await app.create([.download(server.url("/a").absoluteString)])
        _ = try await app.nextEvent()
        _ = try await app.nextEvent()
        try FileManager.default.removeItem(atPath: fixture.folder.path + "/key")
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        let download = try #require(try await again.nextEvent().download)
        #expect(try String(contentsOfFile: download.path, encoding: .utf8) == "in")
        #expect(download.response?.status == 200 && download.response?.headers == [])
        let end = try #require(try await again.nextEvent().completion)
        #expect(end.failure == nil && end.countOfBytesReceived == 2 && end.transactions == nil)
      }
    }
  }

  @Test func rowsOfEarlierVersionsAreReadAsTheyAre() async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/")) { store, id in
      var completion = StoreFixture.completion()
      completion.response?.headers = [HeaderField("Set-Cookie", "old")]
      try store.finish(id, hasFile: false, completion: completion, date: Date())
    }
    try await withEngine(in: folder) { fixture in
      let app = fixture.client()
      try await app.begin()
      #expect(cookie(of: try await app.nextEvent().completion?.response) == "old")
    }
  }

  /// The service ended after the rename and before it wrote the events, and the next one ends before the app is there.
  @Test func answersInClearStayReadableWhenTheyAreRecovered() async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/")) { store, id in
      var response = ResponseSummary(url: "http://h/", status: 200, expectedContentLength: 2)
      response.headers = [HeaderField("Set-Cookie", "old")]
      try store.commit(
        offset: 2, representation: .init(response: response, validator: nil, expectedTotal: 2), of: id)
      try Data("in".utf8).write(to: URL(fileURLWithPath: folder.subfolder("complete") + "/\(id)"))
    }
    try await withEngine(in: folder) { fixture in
      let next = try await fixture.nextLife()
      let app = next.client()
      try await app.begin()
      #expect(cookie(of: try await app.nextEvent().download?.response) == "old")
      #expect(cookie(of: try await app.nextEvent().completion?.response) == "old")
    }
  }

  /// There is neither a keychain nor a file for a key, and the service ends before the app has acknowledged the end.
  @Test func answersInClearAreNotSealedByAKeyThatEndsWithTheService() async throws {
    let folder = try TemporaryFolder()
    _ = try folder.subfolder("key")
    try folder.leaveTransfer(.download("http://h/", running: false)) { store, id in
      let response = ResponseSummary(url: "http://h/", status: 200, headers: [HeaderField("Set-Cookie", "old")])
      try store.commit(
        offset: 0, representation: .init(response: response, validator: nil, expectedTotal: 2), of: id)
    }
    try await withEngine(in: folder) { fixture in
      let app = fixture.client()
      try await app.begin()
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      #expect(cookie(of: try await app.nextEvent().completion?.response) == "old")
      let next = try await fixture.nextLife()
      let again = next.client()
      try await again.begin()
      #expect(cookie(of: try await again.nextEvent().completion?.response) == "old")
    }
  }

  /// The files of downloads are of use without the fields of responses.
  @Test(arguments: [true, false]) func eventsWaitForALockedKeychainForAWhile(isUnlocked: Bool) async throws {
    let folder = try TemporaryFolder()
    let secrets = LockableStore(FileSecretStore(path: try folder.subfolder("secrets") + "/file"))
    try await withServer({ _ in .ok("in", fields: HeaderList(Self.fields)) }) { server in
      try await withEngine(secrets: secrets, { $0.storagePatience = 0.02 }) { fixture in
        let app = fixture.client()
        try await app.begin()
        _ = try await app.create([.download(server.url("/a").absoluteString)])
        _ = try await app.nextEvent()
        _ = try await app.nextEvent()
        secrets.setLocked(true)
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        try await eventually("the wait") { next.engine.awaitsKeychain }
        #expect(again.events.isEmpty)
        if isUnlocked {
          secrets.setLocked(false)
          try await next.settleKey()
        } else {
          next.clock.advance(by: TransferEngine.lockedKeychainPatience)
        }
        let download = try #require(try await again.nextEvent().download)
        #expect(download.response?.status == 200)
        #expect(cookie(of: download.response) == (isUnlocked ? "a=\(Self.cookie)" : nil))
        #expect(try await again.nextEvent().completion?.failure == nil)
      }
    }
  }

  /// An event that needs no key is sent before each time, and says nothing of the keychain.
  @Test func theWaitForALockedKeychainBeginsOnce() async throws {
    let folder = try TemporaryFolder()
    let secrets = LockableStore(FileSecretStore(path: try folder.subfolder("secrets") + "/file"))
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, secrets: secrets, { $0.storagePatience = 0.02 }) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create([.download("http://h/1"), .download("http://h/2", task: 2)])
      try await eventually("the runs") { runner.running == ids }
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1, message: "over")
      runner.end(ids[0], .failed(failure, nil, received: 0))
      #expect(try await app.nextEvent().taskIdentifier == 1)
      let response = ResponseSummary(url: "http://h/2", status: 404, headers: [HeaderField("Set-Cookie", "a=b")])
      runner.end(ids[1], .failed(failure, response, received: 0))
      #expect(try await app.nextEvent().taskIdentifier == 2)

      secrets.setLocked(true)
      let next = try await fixture.nextLife()
      for wait in 1...2 {
        let again = next.client()
        try await again.begin()
        #expect(try await again.nextEvent().taskIdentifier == 1)
        try await eventually("the wait") { next.engine.awaitsKeychain }
        #expect(again.events.count == 1)
        next.clock.advance(by: TransferEngine.lockedKeychainPatience / 2)
        guard wait == 2 else {
          again.disconnect()
          continue
        }
        #expect(try await again.nextEvent().taskIdentifier == 2)
      }
    }
  }

  /// The queue is not given what can't be sealed yet, and other ends do not wait for it.
  @Test func endsWaitUntilItIsKnownWhetherThereIsAKey() async throws {
    let gate = Gate()
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, secrets: GatedStore(gate: gate)) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create([
        .download("http://h/1"), .download("http://h/2", task: 2, running: false),
      ])
      try await eventually("the run") { runner.running == [ids[0]] }
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1, message: "over")
      let response = ResponseSummary(url: "http://h/1", status: 404, headers: [HeaderField("Set-Cookie", "late-4711")])
      runner.end(ids[0], .failed(failure, response, received: 0))
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 2)))
      #expect(try await app.nextEvent().taskIdentifier == 2)
      #expect(try !fixture.store.isOver(ids[0]))
      gate.open()
      let end = try #require(try await app.nextEvent().completion)
      #expect(end.failure?.message == "over" && cookie(of: end.response) == "late-4711")
      try fixture.expectNone(of: ["late-4711"])
    }
  }

  @Test func aRunThatWaitsForTheKeychainCanBeCancelled() async throws {
    let gate = Gate()
    defer { gate.open() }
    try await withServer({ _ in .ok("in") }) { server in
      try await withEngine(secrets: GatedStore(gate: gate)) { fixture in
        let app = fixture.client()
        try await app.begin()
        _ = try await app.create([.download(server.url("/a").absoluteString)])
        try await eventually("the run") { fixture.engine.hasRuns }
        try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
        #expect(try await app.nextEvent().completion?.failure?.code == URLError.Code.cancelled.rawValue)
        gate.open()
      }
    }
  }
}

/// A keychain that answers once the gate is open, and has nothing.
private struct GatedStore: SecretStore {
  let gate: Gate

  func find(_ attributes: SecretAttributes) async throws -> [SecretItem] {
    try await gate.wait(within: patience)
    return []
  }
  func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws {}
  func remove(_ attributes: SecretAttributes) async throws -> Int { 0 }
  func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] { [] }
}

extension TransferEngine {
  fileprivate var awaitsKeychain: Bool {
    queue.sync { sessions.ids.contains { sessions[$0]?.keychainLockedSince != nil } }
  }

  fileprivate var hasRuns: Bool { queue.sync { !runs.isEmpty } }
}
