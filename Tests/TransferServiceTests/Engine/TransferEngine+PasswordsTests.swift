import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

/// Passwords of URLs and of proxies: not in the queue, and not lost where there is a place for its key.
@Suite struct TransferEnginePasswordsTests {
  private static let password = "hunter2-ä"
  private static let right = "Basic " + Data("ann:\(password)".utf8).base64EncodedString()

  @Sendable private static func secret(_ request: RecordedRequest) -> Reply {
    request.value("Authorization") == right
      ? .ok("in") : .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)], body: "who?")
  }

  private func named(_ url: URL) throws -> String {
    var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
    (parts.user, parts.password) = ("ann", Self.password)
    return try #require(parts.string)
  }

  /// No file of the service shows a password, in whatever form.
  private func expectNoPassword(in fixture: EngineFixture, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for name in try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path) {
      let bytes = FileManager.default.contents(atPath: fixture.folder.path + "/" + name) ?? Data()
      for text in ["hunter2", Data(Self.password.utf8).base64EncodedString(), String(Self.right.dropFirst(6))] {
        #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text) is in \(name)", sourceLocation: sourceLocation)
      }
    }
  }

  private func resume(_ app: FakeClient) {
    app.tell(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
  }

  /// The app is asked and leaves it to the service, which has the password.
  private func leaveToService(_ app: FakeClient) async throws {
    let question = try await app.nextQuestion()
    #expect(question.proposedUser == "ann" && question.hasProposedPassword == true)
    let answer = ChallengeAnswered(session: "s", number: question.number, disposition: .performDefaultHandling)
    try await app.ask(.answerChallenge(answer))
  }

  // MARK: URLs

  @Test func thePasswordOfAURLIsUsedAndNotWrittenDown() async throws {
    try await withServer(Self.secret) { server in
      try await withEngine { fixture in
        let app = fixture.client()
        try await app.begin()
        var task = TransferDescription.download(try named(server.url("/a")), running: false)
        task.request.mainDocumentURL = task.request.url
        _ = try await app.create([task])
        try expectNoPassword(in: fixture)
        resume(app)
        try await leaveToService(app)
        let download = try #require(try await app.nextEvent().download)
        #expect(try String(contentsOfFile: download.path, encoding: .utf8) == "in")
        #expect(download.response?.status == 200 && download.response?.url.contains("hunter2") == false)
        _ = try await app.nextEvent()
        #expect(server.requests.map { $0.value("Authorization") } == [nil, Self.right])
        try expectNoPassword(in: fixture)
      }
    }
  }

  /// The user's name is still in the URL, so the app is asked for that user's password. Nothing of it is silent.
  @Test func withoutAKeychainAPasswordIsAskedForAfterARestart() async throws {
    try await withServer(Self.secret) { server in
      try await withEngine { fixture in
        let app = fixture.client()
        try await app.begin()
        _ = try await app.create([.download(try named(server.url("/a")), running: false)])
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        resume(again)
        let question = try await again.nextQuestion()
        #expect(question.proposedUser == "ann" && question.hasProposedPassword == false)
        let credential = ChallengeAnswered.Credential.password(user: "ann", password: Self.password, persistence: 0)
        try await again.ask(
          .answerChallenge(
            ChallengeAnswered(session: "s", number: question.number, disposition: .useCredential(credential))))
        #expect(try await again.nextEvent().download?.response?.status == 200)
        try expectNoPassword(in: next)
      }
    }
  }

  /// Makes a suspended transfer, and waits until its password is sealed on the disk.
  private func createSealed(_ url: String, by app: FakeClient, in fixture: EngineFixture) async throws -> Int64 {
    let id = try #require(try await app.create([.download(url, running: false)]).first)
    try await eventually("the sealed password") { try fixture.store.transfer(id)?.sealedPassword != nil }
    return id
  }

  @Test func aSealedPasswordOutlivesTheService() async throws {
    let folder = try TemporaryFolder()
    let secrets = FileSecretStore(path: try folder.subfolder("secrets") + "/file")
    try await withServer(Self.secret) { server in
      try await withEngine(secrets: secrets) { fixture in
        let app = fixture.client()
        try await app.begin()
        let id = try await createSealed(named(server.url("/a")), by: app, in: fixture)
        try expectNoPassword(in: fixture)
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        resume(again)
        try await leaveToService(again)
        #expect(try await again.nextEvent().download?.response?.status == 200)
        _ = try await again.nextEvent()
        #expect(try next.store.transfer(id)?.sealedPassword == nil)
        // Now there is a key: the next task's password is sealed with its row.
        let task = TransferDescription.download(try named(server.url("/b")), task: 2, running: false)
        let second = try #require(try await again.create([task]).first)
        let row = try #require(try next.store.transfer(second))
        #expect(row.sealedPassword != nil && row.description.request.url.contains("ann@"))
        try expectNoPassword(in: next)
      }
    }
  }

  /// A key that is not there any more opens nothing: the transfer is not lost, and the app is asked.
  @Test func aPasswordThatCanNotBeOpenedIsAskedFor() async throws {
    let folder = try TemporaryFolder()
    let secrets = FileSecretStore(path: try folder.subfolder("secrets") + "/file")
    try await withServer(Self.secret) { server in
      try await withEngine(secrets: secrets) { fixture in
        let app = fixture.client()
        try await app.begin()
        _ = try await createSealed(named(server.url("/a")), by: app, in: fixture)
        _ = try await secrets.remove(SecretAttributes())
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        resume(again)
        let question = try await again.nextQuestion()
        #expect(question.proposedUser == "ann" && question.hasProposedPassword == false)
        try await again.ask(
          .answerChallenge(
            ChallengeAnswered(session: "s", number: question.number, disposition: .performDefaultHandling)))
        #expect(try await again.nextEvent().download?.response?.status == 401)
      }
    }
  }

  // MARK: Proxies

  static let proxies: [SessionOptions] = {
    var dictionary = SessionOptions()
    dictionary.connectionProxyDictionary = ProxyDictionaryText.text([
      "HTTPEnable": 1, "HTTPProxy": "proxy.example", "HTTPPort": 3128, kCFProxyUsernameKey: "ann",
      kCFProxyPasswordKey: password,
    ])
    var configuration = SessionOptions()
    configuration.proxyConfigurations = [
      ProxyDescription(
        kind: .socks5, endpoint: .host("proxy.example", port: 1080),
        credential: .init(username: "ann", password: password))
    ]
    var environment = SessionOptions()
    environment.proxyEnvironment = ["http_proxy": "http://ann:\(password)@proxy.example:3128", "no_proxy": "localhost"]
    return [dictionary, configuration, environment]
  }()

  @Test(arguments: proxies.indices, [true, false])
  func theLoginsOfProxiesAreNotWrittenDown(_ row: Int, hasKeychain: Bool) async throws {
    let options = Self.proxies[row]
    let folder = try TemporaryFolder()
    let secrets = hasKeychain ? FileSecretStore(path: try folder.subfolder("secrets") + "/file") : nil
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
      try expectNoPassword(in: fixture)
      app.disconnect()
      let next = try await fixture.nextLife()
      try await eventually("the run of the next life") { runner.running == [id] }
      // Without a keychain a proxy asks, and the app, which then comes, brings them.
      #expect(runner.job(id)?.options == (hasKeychain ? options : options.withoutLogins))
      #expect(options.withoutLogins != options && runner.job(id)?.options.withoutLogins == options.withoutLogins)
      try expectNoPassword(in: next)
      try runner.finish(id, in: next)
    }
  }

  @Test func optionsWithoutLoginsStayAsTheyAre() {
    for options in Self.proxies { #expect(options.withoutLogins.withoutLogins == options.withoutLogins) }
    #expect(SessionOptions().withoutLogins == SessionOptions())
  }
}
