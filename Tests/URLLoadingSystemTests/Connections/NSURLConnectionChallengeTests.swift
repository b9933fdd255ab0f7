import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Challenges of connections, which are answered through their sender.
@Suite struct NSURLConnectionChallengeTests {
  private typealias Answer = @Sendable (URLAuthenticationChallenge) -> Void

  /// Has the preferred method.
  @available(*, deprecated)
  private final class Asked: ConnectionLog, NSURLConnectionDataDelegate, @unchecked Sendable {
    // Sendable by hand: constants.
    let usesStorage: Bool
    let answer: Answer
    init(usesStorage: Bool = true, _ answer: @escaping Answer) {
      (self.usesStorage, self.answer) = (usesStorage, answer)
    }

    func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool { usesStorage }
    func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge) {
      note("challenge \(challenge.previousFailureCount)")
      answer(challenge)
    }
    func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge) { note("cancel") }
    func connection(_ connection: NSURLConnection, didReceive data: Data) { received.withLock { $0.append(data) } }
    func connectionDidFinishLoading(_ connection: NSURLConnection) { end("finished") }
    func connection(_ connection: NSURLConnection, didFailWithError error: any Error) { fail(error) }
  }

  /// Has the methods of before.
  @available(*, deprecated)
  private final class AskedInTwoSteps: ConnectionLog, NSURLConnectionDataDelegate, @unchecked Sendable {
    // Sendable by hand: constants.
    let canAuthenticate: Bool
    let answer: Answer
    init(_ canAuthenticate: Bool, _ answer: @escaping Answer) {
      (self.canAuthenticate, self.answer) = (canAuthenticate, answer)
    }

    func connection(
      _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
      note("can \(protectionSpace.realm ?? protectionSpace.authenticationMethod)")
      return canAuthenticate
    }
    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
      note("challenge \(challenge.previousFailureCount)")
      answer(challenge)
    }
    func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge) { note("cancel") }
    func connection(_ connection: NSURLConnection, didReceive data: Data) { received.withLock { $0.append(data) } }
    func connectionDidFinishLoading(_ connection: NSURLConnection) { end("finished") }
    func connection(_ connection: NSURLConnection, didFailWithError error: any Error) { fail(error) }
  }

  private static let guarded: LoopbackServer.Handler = {
    $0.value("Authorization") == basic("ann", "1") ? .ok("in") : .unauthorized(#"Basic realm="r""#, body: "no")
  }

  private static func ann(_ password: String) -> URLCredential {
    URLCredential(user: "ann", password: password, persistence: .forSession)
  }

  @available(*, deprecated)
  private func load(_ log: ConnectionLog, _ server: LoopbackServer, _ sessions: ConnectionSessions) async throws {
    let request = URLRequest(url: server.url())
    try await onRunLoop(log) {
      _ = NSURLConnection(request: request, delegate: log, startImmediately: true, in: sessions)
    }
    #expect(log.strays.all.isEmpty)
  }

  @available(*, deprecated)
  @Test func theSenderTakesTheAnswer() async throws {
    let answers: [(answer: Answer, events: [String], text: String)] = [
      (
        { $0.sender?.use(Self.ann($0.previousFailureCount == 0 ? "2" : "1"), for: $0) },
        ["challenge 0", "challenge 1", "finished"], "in"
      ),
      ({ $0.sender?.continueWithoutCredential(for: $0) }, ["challenge 0", "finished"], "no"),
      ({ $0.sender?.performDefaultHandling(for: $0) }, ["challenge 0", "finished"], "no"),
      ({ $0.sender?.rejectProtectionSpaceAndContinue(with: $0) }, ["challenge 0", "finished"], "no"),
      (
        {
          $0.sender?.cancel($0)
          $0.sender?.use(Self.ann("1"), for: $0)
        }, ["challenge 0", "cancel", "failed -1012"], ""
      ),
      // Released without an answer.
      ({ _ in }, ["challenge 0", "failed -999"], ""),
    ]
    for row in answers {
      try await withConnections(Self.guarded) { server, sessions in
        let log = Asked(row.answer)
        try await load(log, server, sessions)
        #expect(log.events.all == row.events)
        #expect(log.text == row.text)
      }
    }
  }

  /// The answer comes from another thread, and later.
  @available(*, deprecated)
  @Test func theAnswerMayComeLater() async throws {
    try await withConnections(Self.guarded) { server, sessions in
      let log = Asked { challenge in
        DispatchQueue.global().async { challenge.sender?.use(Self.ann("1"), for: challenge) }
      }
      try await load(log, server, sessions)
      #expect(log.events.all == ["challenge 0", "finished"] && log.text == "in")
    }
  }

  @available(*, deprecated)
  @Test func theOlderMethodsAreAskedInTheirOrder() async throws {
    let answers: [(can: Bool, answer: Answer, events: [String], text: String)] = [
      (true, { $0.sender?.use(Self.ann("1"), for: $0) }, ["can r", "challenge 0", "finished"], "in"),
      (false, { $0.sender?.use(Self.ann("1"), for: $0) }, ["can r", "finished"], "no"),
      (true, { $0.sender?.cancel($0) }, ["can r", "challenge 0", "cancel", "failed -1012"], ""),
    ]
    for row in answers {
      try await withConnections(Self.guarded) { server, sessions in
        let log = AskedInTwoSteps(row.can, row.answer)
        try await load(log, server, sessions)
        #expect(log.events.all == row.events)
        #expect(log.text == row.text)
      }
    }
  }

  private func space(of server: LoopbackServer) -> URLProtectionSpace {
    URLProtectionSpace(
      host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "r",
      authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
  }

  /// A stored credential is used unasked by the older methods, and proposed to the preferred one.
  @available(*, deprecated)
  @Test func aStoredCredentialIsUsedUnlessTheDelegateWantsNone() async throws {
    for usesStorage in [true, false] {
      try await withConnections(Self.guarded) { server, sessions in
        sessions.stored.configuration.urlCredentialStorage?.setDefaultCredential(Self.ann("1"), for: space(of: server))
        let proposed = Recorder<String?>()
        let log = Asked(usesStorage: usesStorage) {
          proposed.record($0.proposedCredential?.user)
          $0.sender?.performDefaultHandling(for: $0)
        }
        try await load(log, server, sessions)
        #expect(log.text == (usesStorage ? "in" : "no"))
        #expect(proposed.all == [usesStorage ? "ann" : nil])
      }
    }
    try await withConnections(Self.guarded) { server, sessions in
      sessions.stored.configuration.urlCredentialStorage?.setDefaultCredential(Self.ann("1"), for: space(of: server))
      let log = AskedInTwoSteps(true) { $0.sender?.cancel($0) }
      try await load(log, server, sessions)
      #expect(log.events.all == ["can r", "finished"] && log.text == "in")
    }
  }

  /// A delegate without any of the methods.
  @available(*, deprecated)
  @Test func withoutAMethodTheResponseIsTheResult() async throws {
    try await withConnections(Self.guarded) { server, sessions in
      let log = ConnectionRecorder()
      try await load(log, server, sessions)
      #expect(log.summary == ["send 0", "response", "data", "finished"] && log.text == "no")
    }
  }

  /// By the older methods a server is judged by a delegate that says it can, and else by the rules.
  @available(*, deprecated)
  @Test func theServersCertificateIsAChallengeToo() async throws {
    let accept: Answer = { challenge in
      guard let trust = challenge.protectionSpace.serverTrust else { return }
      challenge.sender?.use(URLCredential(trust: trust), for: challenge)
    }
    let rows: [(log: ConnectionLog, text: String, code: URLError.Code?)] = [
      (Asked(accept), "secret", nil), (AskedInTwoSteps(true, accept), "secret", nil),
      (AskedInTwoSteps(false, accept), "", .serverCertificateHasUnknownRoot),
      (ConnectionRecorder(), "", .serverCertificateHasUnknownRoot),
    ]
    for row in rows {
      try await withConnections(
        { _ in .ok("secret") }, tls: .localhost(), configure: { $0.trustRoots = URLSessionConfiguration().trustRoots }
      ) { server, sessions in
        try await load(row.log, server, sessions)
        #expect(row.log.text == row.text)
        #expect(row.log.errors.all.first?.code == row.code)
      }
    }
  }
}
