import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// Whether nginx says that a handshake resumed an earlier one (`$ssl_session_reused`: "r" or ".").
@Suite(.fewAtATime, .enabled(if: InstalledServer.nginx.runsHere)) struct SessionResumptionTests {
  private final class Judge: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) { (.performDefaultHandling, nil) }
  }

  /// Every answer ends its connection.
  private func answers(
    _ version: tls_protocol_version_t, count: Int, delegate: (any URLSessionDelegate)? = nil,
    between: (URLSession) async -> Void = { _ in }
  ) async throws -> [String] {
    let identity = try TestCertificates.shared().localhost
    let nginx = try await Nginx.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile),
      extra: """
        ssl_session_cache builtin:100;
        keepalive_timeout 0;
        location / { return 200 "$ssl_protocol $ssl_session_reused"; }
        """)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(identity.authorityFile)
    configuration.tlsMaximumSupportedProtocolVersion = version
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let port = try #require(nginx.securePort)
    let url = try #require(URL(string: "https://localhost:\(port)/"))
    var answers: [String] = []
    for _ in 0..<count {
      answers.append(String(decoding: try await session.data(from: url).0, as: UTF8.self))
      await between(session)
    }
    session.invalidateAndCancel()
    await nginx.stop()
    return answers
  }

  @Test func laterConnectionsAreResumed() async throws {
    #expect(try await answers(.TLSv13, count: 4) == ["TLSv1.3 .", "TLSv1.3 r", "TLSv1.3 r", "TLSv1.3 r"])
    #expect(try await answers(.TLSv12, count: 3) == ["TLSv1.2 .", "TLSv1.2 r", "TLSv1.2 r"])
  }

  /// Who may judge the server sees its certificates each time.
  @Test func delegatesSeeEveryHandshake() async throws {
    #expect(try await answers(.TLSv13, count: 3, delegate: Judge()) == ["TLSv1.3 .", "TLSv1.3 .", "TLSv1.3 ."])
  }

  @Test func aResetForgets() async throws {
    #expect(try await answers(.TLSv13, count: 2) { await $0.reset() } == ["TLSv1.3 .", "TLSv1.3 ."])
  }
}
