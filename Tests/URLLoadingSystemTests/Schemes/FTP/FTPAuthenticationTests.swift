import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Loads from FTP servers that want a user name and a password.
@Suite struct FTPAuthenticationTests {
  private static let users = ["ann": "p:ä", "bob": "", "anonymous": "guest"]

  /// Runs `body` with a server that knows `users`, and proves afterwards that no connection was left behind.
  private func withServer(
    _ delegate: CredentialDelegate?, storage: URLCredentialStorage? = URLCredentialStorage(),
    _ body: (ScriptedFTPServer, URLSession) async throws -> Void
  ) async throws {
    let server = try await ScriptedFTPServer.start(FTPScript.file().with { $0.users = Self.users })
    let session = URLSession.answering(delegate) { $0.urlCredentialStorage = storage }
    do { try await body(server, session) } catch {
      session.invalidateAndCancel()
      await server.shutdown()
      throw error
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private func space(_ server: ScriptedFTPServer) -> URLProtectionSpace {
    URLProtectionSpace(
      host: "127.0.0.1", port: server.port, protocol: NSURLProtectionSpaceFTP, realm: nil,
      authenticationMethod: NSURLAuthenticationMethodDefault)
  }

  private func logins(_ server: ScriptedFTPServer) -> [String] {
    server.commands.filter { $0.hasPrefix("USER") || $0.hasPrefix("PASS") }
  }

  private static let anonymous = ["USER anonymous", "PASS anonymous@"]
  private static let ann = ["USER ann", "PASS p:ä"]

  @Test func theDelegateIsAskedOnceAndTheNextLoadLogsInAtOnce() async throws {
    let delegate = CredentialDelegate.user("ann", "p:ä")
    try await withServer(delegate) { server, session in
      for _ in 0..<2 { try await expectText("hello\n", session.data(from: server.url("/a.txt"))) }
      // The second load goes on with the connection of the first.
      #expect(logins(server) == Self.anonymous + Self.ann)
      #expect(server.control.connectionCount == 2)
      let challenge = try #require(delegate.asked.all.first)
      #expect(delegate.asked.all.count == 1)
      #expect(challenge.protectionSpace == space(server) && !challenge.protectionSpace.isProxy())
      #expect(challenge.protectionSpace.realm == nil && !challenge.protectionSpace.receivesCredentialSecurely)
      #expect(challenge.previousFailureCount == 0 && challenge.proposedCredential == nil)
      #expect(challenge.failureResponse == nil)
      #expect((challenge.error as? URLError)?.code == .userAuthenticationRequired)
      #expect(session.configuration.urlCredentialStorage?.defaultCredential(for: space(server))?.user == "ann")
    }
  }

  @Test func theLoginOfAURLIsNotInTheMetrics() async throws {
    let delegate = RecordingDelegate()
    let server = try await ScriptedFTPServer.start(FTPScript.file().with { $0.users = Self.users })
    let session = URLSession.recording(delegate)
    let url = try #require(URL(string: "ftp://bob:@127.0.0.1:\(server.port)/a.txt"))
    let task = session.dataTask(with: url)
    task.resume()
    try await delegate.done.wait(within: patience)
    #expect(logins(server) == ["USER bob"] || logins(server) == ["USER bob", "PASS "])
    let transactions = try #require(delegate.metrics.all.first).transactionMetrics
    #expect(!transactions.isEmpty)
    for transaction in transactions { #expect(transaction.request.value(forHTTPHeaderField: "Authorization") == nil) }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func aWrongPasswordIsAskedForAgain() async throws {
    let delegate = CredentialDelegate { challenge in
      let password = challenge.previousFailureCount < 2 ? "wrong" : "p:ä"
      return (.useCredential, URLCredential(user: "ann", password: password, persistence: .none))
    }
    try await withServer(delegate) { server, session in
      try await expectText("hello\n", session.data(from: server.url("/a.txt")))
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 1, 2])
      // A credential for one request is not kept.
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
      _ = try await session.data(from: server.url("/a.txt"))
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 1, 2, 0, 1, 2])
    }
  }

  @Test func aDelegateThatRepeatsAWrongPasswordIsAskedABoundedNumberOfTimes() async throws {
    let delegate = CredentialDelegate.user("ann", "wrong")
    try await withServer(delegate) { server, session in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
      #expect(error?.code == .userAuthenticationRequired)
      #expect((2...9).contains(delegate.asked.all.count))
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
      // No text says the password.
      #expect(error.map { !"\($0)".contains("wrong") } == true)
    }
  }

  static let refusals: [(disposition: URLSession.AuthChallengeDisposition, code: URLError.Code)] = [
    (.performDefaultHandling, .userAuthenticationRequired), (.rejectProtectionSpace, .userAuthenticationRequired),
    (.useCredential, .userAuthenticationRequired), (.cancelAuthenticationChallenge, .cancelled),
  ]

  @Test(arguments: refusals.indices) func noCredentialFailsTheLoad(_ row: Int) async throws {
    let (disposition, code) = Self.refusals[row]
    try await withServer(CredentialDelegate { _ in (disposition, nil) }) { server, session in
      let url = try server.url("/a.txt")
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == code && error?.failingURL == url)
      #expect(server.control.connectionCount == 1)
    }
  }

  @Test func theCredentialInTheURLIsUsedAndStaysOutOfTheStorage() async throws {
    let delegate = CredentialDelegate.user("bob", "")
    try await withServer(delegate) { server, session in
      try await expectText("hello\n", session.data(from: server.url("/a.txt", user: "ann:p%3A%C3%A4@")))
      #expect(logins(server) == Self.ann && delegate.asked.all.isEmpty)
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    }
  }

  @Test func aRefusedCredentialOfTheURLCountsAsAFailure() async throws {
    let delegate = CredentialDelegate.user("ann", "p:ä")
    try await withServer(delegate) { server, session in
      try await expectText("hello\n", session.data(from: server.url("/a.txt", user: "ann:old@")))
      #expect(logins(server) == ["USER ann", "PASS old"] + Self.ann)
      #expect(delegate.asked.all.map(\.previousFailureCount) == [1])
      #expect(delegate.asked.all.map { $0.proposedCredential?.password } == ["old"])
    }
  }

  @Test func aUserNameInTheURLIsProposed() async throws {
    let delegate = CredentialDelegate { challenge in
      let user = challenge.proposedCredential?.user ?? ""
      return (.useCredential, URLCredential(user: user, password: "p:ä", persistence: .forSession))
    }
    try await withServer(delegate) { server, session in
      try await expectText("hello\n", session.data(from: server.url("/a.txt", user: "ann@")))
      #expect(logins(server) == ["USER ann", "PASS "] + Self.ann)
      #expect(delegate.asked.all.map { $0.proposedCredential?.hasPassword } == [false])
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0])
      // The storage has the password now.
      try await expectText("hello\n", session.data(from: server.url("/a.txt", user: "ann@")))
      #expect(delegate.asked.all.count == 1)
      // Another user of the same URL is not mistaken for this one.
      try await expectText("hello\n", session.data(from: server.url("/a.txt", user: "bob@")))
      #expect(logins(server).suffix(2) == ["USER bob", "PASS "])
    }
  }

  @Test func theStoragesDefaultIsUsedWhereNoDelegateAnswers() async throws {
    let storage = URLCredentialStorage()
    try await withServer(nil, storage: storage) { server, session in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
      #expect(error?.code == .userAuthenticationRequired)
      storage.setDefaultCredential(
        URLCredential(user: "ann", password: "p:ä", persistence: .forSession), for: space(server))
      try await expectText("hello\n", session.data(from: server.url("/a.txt")))
      #expect(logins(server) == Self.anonymous + Self.ann)
    }
  }

  @Test(arguments: ["p\r\nDELE a.txt", "p\0"]) func aPasswordThatEndsACommandIsNotSent(password: String) async throws {
    try await withServer(.user("ann", password)) { server, session in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
      #expect(error?.code == .userAuthenticationRequired)
      #expect(logins(server) == Self.anonymous)
      #expect(!server.commands.contains { $0.hasPrefix("DELE") })
    }
  }

  /// A server that wants an account besides, or is closed to all, has no use for another password.
  @Test(arguments: [("PASS", "332 account?\r\n"), ("USER", "500 what?\r\n"), ("RETR", "550 no such file\r\n")])
  func otherRefusalsRaiseNoChallenge(verb: String, answer: String) async throws {
    let delegate = CredentialDelegate.user("ann", "p:ä")
    let server = try await ScriptedFTPServer.start(FTPScript.file().with { $0.answers[verb] = answer })
    let session = URLSession.answering(delegate)
    await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
    #expect(delegate.asked.all.isEmpty)
    session.invalidateAndCancel()
    await server.shutdown()
  }

  /// The load waits for the answer; one that is cancelled meanwhile ends at once.
  @Test func cancellingEndsTheWaitForAnAnswer() async throws {
    let delegate = RecordingDelegate()
    let server = try await ScriptedFTPServer.start(FTPScript.file().with { $0.users = Self.users })
    let asking = SilentDelegate()
    let session = URLSession(configuration: .loopback, delegate: asking, delegateQueue: nil)
    let task = session.dataTask(with: try server.url("/a.txt"))
    task.delegate = delegate
    task.resume()
    try await asking.asked.wait(within: patience)
    task.cancel()
    try await delegate.done.wait(within: patience)
    #expect(delegate.errors.all.map(\.code) == [.cancelled])
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}

/// Is asked, and never answers.
private final class SilentDelegate: NSObject, URLSessionTaskDelegate, Sendable {
  let asked = Gate()
  private let handlers = Recorder<@Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void>()

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    handlers.record(completionHandler)
    asked.open()
  }
}
