import Foundation
import LoopbackServer
import Synchronization
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Fields that let a request in by themselves: not in the queue in clear, and never left out of a request.
@Suite struct TransferEngineFieldsTests {
  private static let headers = [
    HeaderField("X-First", "1"), HeaderField("Authorization", "Bearer hunter2-token"),
    HeaderField("Cookie", "sid=hunter2-cookie"), HeaderField("X-Last", "2"),
  ]

  @Sendable private static func reply(_ request: RecordedRequest) -> Reply {
    .ok(request.value("Authorization") == "Bearer hunter2-token" ? "in" : "out")
  }

  /// No file of the service shows a value, in whatever form: the log of the database is one of them.
  private func expectNoValue(in fixture: EngineFixture, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for name in try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path) {
      let bytes = FileManager.default.contents(atPath: fixture.folder.path + "/" + name) ?? Data()
      for text in ["hunter2"] + Self.headers[1...2].map({ Data($0.value.utf8).base64EncodedString() }) {
        #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text) is in \(name)", sourceLocation: sourceLocation)
      }
    }
  }

  private func resume(_ app: FakeClient, _ task: Int = 1) {
    app.tell(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [task])))
  }

  private func task(_ server: LoopbackServer, running: Bool = false) -> TransferDescription {
    .download(server.url("/a").absoluteString, running: running, headers: Self.headers)
  }

  private func makeStore(_ folder: TemporaryFolder) throws -> FileSecretStore {
    FileSecretStore(path: try folder.subfolder("secrets") + "/file")
  }

  /// Makes a suspended transfer, and waits until its fields are sealed on the disk.
  private func createSealed(_ task: TransferDescription, by app: FakeClient, in fixture: EngineFixture) async throws {
    let id = try #require(try await app.create([task]).first)
    try await eventually("the sealed fields") { try fixture.store.transfer(id)?.sealedSecrets != nil }
  }

  private func expectSent(by server: LoopbackServer, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(server.requests.count == 1, sourceLocation: sourceLocation)
    for header in Self.headers {
      #expect(server.requests.first?.values(header.name) == [header.value], sourceLocation: sourceLocation)
    }
  }

  // MARK: Requests

  @Test(arguments: [true, false]) func fieldsAreSentAndNotWrittenDown(hasKeychain: Bool) async throws {
    let folder = try TemporaryFolder()
    let secrets = try hasKeychain ? makeStore(folder) : nil
    try await withServer(Self.reply) { server in
      try await withEngine(secrets: secrets) { fixture in
        let app = fixture.client()
        try await app.begin()
        _ = try await app.create([task(server)])
        try expectNoValue(in: fixture)
        resume(app)
        let download = try #require(try await app.nextEvent().download)
        #expect(try String(contentsOfFile: download.path, encoding: .utf8) == "in")
        _ = try await app.nextEvent()
        expectSent(by: server)
        try expectNoValue(in: fixture)
      }
    }
  }

  @Test func sealedFieldsOutliveTheService() async throws {
    let folder = try TemporaryFolder()
    let secrets = try makeStore(folder)
    try await withServer(Self.reply) { server in
      try await withEngine(secrets: secrets) { fixture in
        let app = fixture.client()
        try await app.begin()
        try await createSealed(task(server), by: app, in: fixture)
        try expectNoValue(in: fixture)
        let next = try await fixture.nextLife()
        let again = next.client()
        let attached = try #require(try await again.begin())
        #expect(attached.page.tasks.first?.description.request.headers.map(\.name) == ["X-First", "X-Last"])
        resume(again)
        #expect(try await again.nextEvent().download?.response?.status == 200)
        _ = try await again.nextEvent()
        expectSent(by: server)
        try expectNoValue(in: next)
      }
    }
  }

  private func expectRefusal(_ app: FakeClient, _ server: LoopbackServer) async throws {
    let completion = try #require(try await app.nextEvent().completion)
    #expect(completion.failure?.code == URLError.Code.userAuthenticationRequired.rawValue)
    #expect(completion.failure?.message.contains("Authorization, Cookie") == true)
    #expect(server.requests.isEmpty)
  }

  /// Nothing is asked for fields, and a request without them is another one: the transfer fails.
  @Test(arguments: [true, false]) func aTransferWhoseFieldsAreGoneFails(hadKey: Bool) async throws {
    let folder = try TemporaryFolder()
    let secrets = try hadKey ? makeStore(folder) : nil
    try await withServer(Self.reply) { server in
      try await withEngine(secrets: secrets) { fixture in
        let app = fixture.client()
        try await app.begin()
        if hadKey {
          try await createSealed(task(server), by: app, in: fixture)
        } else {
          _ = try await app.create([task(server)])
        }
        _ = try await secrets?.remove(SecretAttributes())
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        resume(again)
        try await expectRefusal(again, server)
      }
    }
  }

  /// An app that sends its task again, because it has not heard that it was taken, gives the fields back.
  @Test func aTaskThatIsSentAgainBringsItsFields() async throws {
    try await withServer(Self.reply) { server in
      try await withEngine { fixture in
        let app = fixture.client()
        try await app.begin()
        _ = try await app.create([task(server)])
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        _ = try await again.create([task(server)])
        resume(again)
        #expect(try await again.nextEvent().download?.response?.status == 200)
        expectSent(by: server)
      }
    }
  }

  @Test func sealedFieldsWaitForAKeychainThatIsLocked() async throws {
    let folder = try TemporaryFolder()
    let secrets = LockableStore(try makeStore(folder))
    try await withServer(Self.reply) { server in
      try await withEngine(secrets: secrets) { fixture in
        let app = fixture.client()
        try await app.begin()
        try await createSealed(task(server), by: app, in: fixture)
        secrets.isLocked.store(true, ordering: .relaxed)
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        try await again.watch()
        resume(again)
        // The keychain is asked first; the second wait is the one for its user.
        var sentence = ""
        while !sentence.contains("can't be read") { sentence = try await again.nextRetry().sentence }
        #expect(server.requests.isEmpty)
        secrets.isLocked.store(false, ordering: .relaxed)
        await next.advance(by: 60)
        #expect(try await again.nextEvent().download?.response?.status == 200)
        expectSent(by: server)
      }
    }
  }

  // MARK: Rows of earlier versions

  @Test(arguments: [false, true]) func aRowWithItsFieldsInClearIsRead(isSentAgain: Bool) async throws {
    try await withServer(Self.reply) { server in
      try await withEngine { fixture in
        let app = fixture.client()
        try await app.begin()
        let id = try #require(try await app.create([task(server)]).first)
        // What an earlier version had written.
        try fixture.store.setDescription(task(server), of: id)
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        if isSentAgain { _ = try await again.create([task(server)]) }
        resume(again)
        #expect(try await again.nextEvent().download?.response?.status == 200)
        expectSent(by: server)
      }
    }
  }

  @Test func aRowWithASealedPasswordAloneIsRead() async throws {
    let folder = try TemporaryFolder()
    let secrets = try makeStore(folder)
    let right = "Basic " + Data("ann:pass".utf8).base64EncodedString()
    try await withServer({ request in
      request.value("Authorization") == right
        ? .ok("in") : .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)])
    }) { server in
      try await withEngine(secrets: secrets) { fixture in
        let app = fixture.client()
        try await app.begin()
        var parts = try #require(URLComponents(url: server.url("/a"), resolvingAgainstBaseURL: true))
        (parts.user, parts.password) = ("ann", "pass")
        try await createSealed(.download(try #require(parts.string), running: false), by: app, in: fixture)
        parts.password = nil
        let url = try #require(parts.string)
        // What an earlier version had written.
        let key = QueueKey(ofQueue: "tests") { secrets }
        await withCheckedContinuation { done in key.open { done.resume() } }
        let sealed = try #require(key.seal(.copy(of: "pass"), for: "the password of token-1 for \(url)"))
        try fixture.store.setSealedSecrets(sealed, of: 1)
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        resume(again)
        let question = try await again.nextQuestion()
        #expect(question.proposedUser == "ann" && question.hasProposedPassword == true)
        try await again.ask(
          .answerChallenge(
            ChallengeAnswered(session: "s", number: question.number, disposition: .performDefaultHandling)))
        #expect(try await again.nextEvent().download?.response?.status == 200)
      }
    }
  }

  // MARK: Sessions

  /// Without a key the session's fields come back with its app, which is started.
  @Test(arguments: [true, false]) func fieldsOfTheSessionAreNotWrittenDown(hasKeychain: Bool) async throws {
    let folder = try TemporaryFolder()
    let secrets = try hasKeychain ? makeStore(folder) : nil
    var options = SessionOptions()
    options.httpAdditionalHeaders = Self.headers
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, secrets: secrets) { fixture in
      let app = fixture.client()
      try await app.begin(options: options)
      let id = try #require(try await app.create([.download("http://h/")]).first)
      try await eventually("the run") { runner.running == [id] }
      #expect(runner.job(id)?.options == options)
      if hasKeychain {
        try await eventually("the sealed options") {
          try fixture.store.liveSessions().contains { $0.sealedOptions != nil }
        }
      }
      try expectNoValue(in: fixture)
      app.disconnect()
      let next = try await fixture.nextLife()
      let again = next.client()
      if !hasKeychain {
        _ = try await next.launcher.launches.first(1)
        #expect(runner.running.isEmpty)
        try await again.begin(options: options)
      }
      try await eventually("the run of the next life") { runner.running == [id] }
      #expect(runner.job(id)?.options == options)
      try expectNoValue(in: next)
      try runner.finish(id, in: next)
    }
  }
}

/// A store that its user locks and unlocks.
private final class LockableStore: SecretStore {
  let isLocked = Atomic(false)
  private let file: FileSecretStore

  init(_ file: FileSecretStore) { self.file = file }

  private func check() throws {
    if isLocked.load(ordering: .relaxed) { throw SecretStoreUnavailable(.locked) }
  }

  func find(_ attributes: SecretAttributes) async throws -> [SecretItem] {
    try check()
    return try await file.find(attributes)
  }

  func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws {
    try check()
    try await file.store(secret, for: attributes)
  }

  func remove(_ attributes: SecretAttributes) async throws -> Int { try await file.remove(attributes) }

  func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] { try await file.list(attributes) }
}
