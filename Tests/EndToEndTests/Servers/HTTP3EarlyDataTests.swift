import Foundation
import LoopbackServer
import RealServers
import Synchronization
import Testing
import URLLoadingSystem

/// Handshakes that continue an earlier one, and requests that leave before they are complete (RFC 9001 §4.6, RFC 8470).
@Suite(.fewAtATime, .enabled(if: HTTP3Support.runsHere && PythonHTTP3.server.runsHere, "\(HTTP3Support.advice)"))
struct HTTP3EarlyDataTests {
  /// A server that has given the session a ticket, over a connection that serves no further request.
  private func withKnownServer(
    earlyData: Bool = true, delegate: TransactionLog = TransactionLog(), after paths: [String] = [],
    _ body: (RealServer, URLSession, TransactionLog) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await PythonHTTP3.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile))
    try await HTTP3Support.withSession(
      trusting: identity.authorityFile, ports: [server.port], configure: { $0.enablesEarlyData = earlyData },
      delegate: delegate
    ) { session, log in
      for path in paths { _ = try await session.data(for: request(server, path)) }
      try await expect("resumed=0 early=0", from: session, request(server, "/handshake"))
      try await expect("the last", from: session, request(server, "/goaway"))
      try await body(server, session, log)
    } finally: {
      await server.stop()
    }
  }

  private func request(_ server: RealServer, _ path: String, method: String = "GET") throws -> URLRequest {
    var request = HTTP3Support.request(try #require(URL(string: "https://localhost:\(server.port)\(path)")))
    request.httpMethod = method
    return request
  }

  private func expect(
    _ expected: String, from session: URLSession, _ request: URLRequest, at location: SourceLocation = #_sourceLocation
  ) async throws {
    let found = String(decoding: try await session.data(for: request).0, as: UTF8.self)
    #expect(found == expected, sourceLocation: location)
  }

  @Test(arguments: ["GET", "OPTIONS"]) func aSafeRequestLeavesBeforeTheHandshakeIsComplete(_ method: String)
    async throws
  {
    try await withKnownServer { server, session, log in
      try await expect("resumed=1 early=1", from: session, request(server, "/handshake", method: method))
      let transaction = try #require(log.all.last)
      #expect(transaction.networkProtocolName == "h3" && transaction.negotiatedTLSCipherSuite != nil)
      #expect(transaction.secureConnectionEndDate != nil && !transaction.isReusedConnection)
      // The next one on the same connection.
      try await expect("resumed=1 early=0", from: session, request(server, "/handshake"))
      #expect(log.all.last?.isReusedConnection == true)
    }
  }

  @Test func withoutTheSettingAHandshakeIsOnlyResumed() async throws {
    try await withKnownServer(earlyData: false) { server, session, _ in
      try await expect("resumed=1 early=0", from: session, request(server, "/handshake"))
    }
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "OWN"])
  func aRequestThatMayChangeSomethingWaits(_ method: String) async throws {
    try await withKnownServer { server, session, _ in
      var request = try request(server, "/handshake", method: method)
      try await expect("resumed=1 early=0", from: session, request)
      request.httpBody = Data("body".utf8)
      try await expect("resumed=1 early=0", from: session, request)
    }
  }

  /// One with a body waits for the handshake on the connection on which another has left early.
  @Test func requestsOfBothKindsShareAConnection() async throws {
    try await withKnownServer { server, session, log in
      let before = log.all.count
      var upload = try request(server, "/echo", method: "POST")
      let body = BytePattern(seed: 5).bytes(count: 3 << 20)
      upload.httpBody = Data(body)
      let answers = Recorder<Result<Data, any Error>>()
      let echoes = Recorder<Result<Data, any Error>>()
      // The connection is made for the first of them.
      for (request, results) in [(try request(server, "/handshake"), answers), (upload, echoes)] {
        let task = session.dataTask(with: request) { data, _, error in
          results.record(error.map { .failure($0) } ?? .success(data ?? Data()))
        }
        task.resume()
      }
      #expect(String(decoding: try await answers.next().get(), as: UTF8.self) == "resumed=1 early=1")
      let answer = try await echoes.next().get()
      #expect(answer.count == body.count && BytePattern(seed: 5).matches(answer))
      #expect(Set(log.all[before...].compactMap(\.localPort)).count == 1)
    }
  }

  /// RFC 9001 §4.6.2: what was sent early is sent once more, on the same connection.
  @Test(arguments: [("/refuse-early", "resumed=1 early=0"), ("/forget", "resumed=0 early=0")])
  func rejectedEarlyDataAreSentAgain(_ path: String, _ expected: String) async throws {
    try await withKnownServer { server, session, log in
      // On a connection of its own, which does not say anything of early data.
      _ = try await session.data(for: request(server, path, method: "POST"))
      try await expect("the last", from: session, request(server, "/goaway", method: "POST"))
      if path == "/forget" { _ = try await session.data(for: request(server, "/handshake", method: "POST")) }
      let before = log.all.count
      let get = try request(server, "/handshake")
      try await withThrowingTaskGroup(of: Data.self) { group in
        for _ in 0..<8 { group.addTask { try await session.data(for: get).0 } }
        for try await data in group { #expect(String(decoding: data, as: UTF8.self) == expected) }
      }
      #expect(Set(log.all[before...].compactMap(\.localPort)).count == 1)
    }
  }

  /// The server permits fewer streams than it did: the requests that have none wait for one, in their order.
  @Test func requestsWaitForFewerStreamsThanThereWere() async throws {
    try await withKnownServer { server, session, log in
      _ = try await session.data(for: request(server, "/few-streams", method: "POST"))
      try await expect("the last", from: session, request(server, "/goaway", method: "POST"))
      let before = log.all.count
      let get = try request(server, "/handshake")
      try await withThrowingTaskGroup(of: Data.self) { group in
        for _ in 0..<24 { group.addTask { try await session.data(for: get).0 } }
        for try await data in group { #expect(String(decoding: data, as: UTF8.self) == "resumed=1 early=0") }
      }
      #expect(log.all.count == before + 24)
      #expect(Set(log.all[before...].compactMap(\.localPort)).count == 1)
    }
  }

  /// RFC 8470 §5.2: the request is sent once more, behind the handshake.
  @Test func tooEarlyIsAnsweredWithARepetition() async throws {
    try await withKnownServer { server, session, _ in
      let (data, response) = try await session.data(for: request(server, "/too-early"))
      #expect(String(decoding: data, as: UTF8.self) == "late")
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }
  }

  /// An app that judges servers is asked before a request leaves early, with the certificates of the handshake before.
  @Test(arguments: [true, false]) func anAppJudgesTheServerBeforehand(_ accepts: Bool) async throws {
    let judge = TrustJudge()
    try await withKnownServer(delegate: judge) { server, session, _ in
      let before = judge.count
      judge.accepts = accepts
      let request = try request(server, "/handshake")
      if accepts {
        try await expect("resumed=1 early=1", from: session, request)
      } else {
        let error = await #expect(throws: URLError.self) { try await session.data(for: request) }
        #expect(error?.code == .cancelled)
      }
      #expect(judge.count == before + 1)
      // A server that was refused was reached: it is asked over QUIC again, and answers nothing else.
      judge.accepts = true
      _ = try await session.data(for: request)
    }
  }

  /// `reset` forgets what servers gave for the next handshake.
  @Test func resetForgetsTickets() async throws {
    try await withKnownServer { server, session, _ in
      await session.flush()
      try await expect("resumed=0 early=0", from: session, request(server, "/handshake"))
    }
  }
}

/// Answers for the trust in servers.
private final class TrustJudge: TransactionLog, @unchecked Sendable {
  private let state = Mutex((accepts: true, count: 0))

  var accepts: Bool {
    get { state.withLock { $0.accepts } }
    set { state.withLock { $0.accepts = newValue } }
  }
  var count: Int { state.withLock { $0.count } }

  override func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust else {
      return completionHandler(.performDefaultHandling, nil)
    }
    let accepts = state.withLock { state in
      state.count += 1
      return state.accepts
    }
    completionHandler(accepts ? .performDefaultHandling : .cancelAuthenticationChallenge, nil)
  }
}
