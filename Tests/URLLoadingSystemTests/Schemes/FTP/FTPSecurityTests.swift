import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// FTP over TLS (RFC 4217): asked for on a plain connection, and from the beginning.
@Suite struct FTPSecurityTests {
  private func withSecureFTP(
    isImplicit: Bool = false, trusted: Bool = true, _ script: FTPScript = .file(),
    delegate: RecordingDelegate = RecordingDelegate(),
    _ body: (ScriptedFTPServer, URLSession, URL) async throws -> Void
  ) async throws {
    let tls = try ServerTLS.localhost()
    let server = try await ScriptedFTPServer.start(
      script.with {
        $0.tls = tls
        $0.isImplicitlySecure = isImplicit
      })
    let configuration = trusted ? URLSessionConfiguration.loopback : .ephemeral
    configuration.ftpRequiresTLS = true
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    do {
      let scheme = isImplicit ? "ftps" : "ftp"
      try await body(
        server, session, try #require(URL(string: "\(scheme)://localhost:\(server.port)/a.txt")))
    } catch {
      session.invalidateAndCancel()
      await server.shutdown()
      throw error
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test(arguments: [false, true]) func bothConnectionsAreProtected(isImplicit: Bool) async throws {
    let delegate = RecordingDelegate()
    try await withSecureFTP(isImplicit: isImplicit, delegate: delegate) { server, session, url in
      for _ in 0..<2 {
        let (data, response) = try await session.data(from: url)
        #expect(data == Data("hello\n".utf8) && response.expectedContentLength == 6)
        let transaction = try #require(try await delegate.metrics.next().transactionMetrics.first)
        #expect(transaction.negotiatedTLSProtocolVersion == .TLSv13 && transaction.networkProtocolName == "ftp")
      }
      let login = [
        "USER anonymous", "PASS anonymous@", "PBSZ 0", "PROT P", "TYPE I", "SIZE a.txt", "EPSV", "RETR a.txt",
      ]
      #expect(server.commands.starts(with: isImplicit ? login : ["AUTH TLS"] + login))
      #expect(server.control.connectionCount == 1)
    }
  }

  @Test func filesAreSentProtected() async throws {
    try await withSecureFTP { server, session, url in
      let bytes = BytePattern().bytes(count: 500_000)
      var put = URLRequest(url: url)
      put.httpMethod = "PUT"
      _ = try await session.upload(for: put, from: Data(bytes))
      #expect(server.uploads == [bytes])
    }
  }

  @Test(arguments: [false, true]) func aServerThatIsNotTrustedIsToldNothing(isImplicit: Bool) async throws {
    try await withSecureFTP(isImplicit: isImplicit, trusted: false) { server, session, url in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .serverCertificateUntrusted || error?.code == .serverCertificateHasUnknownRoot)
      #expect(!server.commands.contains { $0.hasPrefix("USER") })
    }
  }

  /// Once for each server, though data connections have handshakes of their own.
  @Test func theDelegateJudgesTheServer() async throws {
    let delegate = ChallengeDelegate.accepting()
    let tls = try ServerTLS.localhost()
    let server = try await ScriptedFTPServer.start(FTPScript.file().with { $0.tls = tls })
    let session = secureSession(delegate) { $0.ftpRequiresTLS = true }
    let url = try #require(URL(string: "ftp://localhost:\(server.port)/a.txt"))
    for _ in 0..<2 { try await expectText("hello\n", session.data(from: url)) }
    #expect(delegate.asked.all.map(\.protectionSpace.authenticationMethod) == [NSURLAuthenticationMethodServerTrust])
    #expect(delegate.asked.all.map(\.protectionSpace.protocol) == [NSURLProtectionSpaceFTP])
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A server that does not protect, or not the data, is told no password and sent no data.
  @Test(arguments: [("AUTH", "502 no\r\n"), ("PBSZ", "503 no\r\n"), ("PROT", "536 no\r\n"), ("AUTH", "334 more\r\n")])
  func withoutProtectionThereIsNoLoad(verb: String, answer: String) async throws {
    try await withSecureFTP(.file().with { $0.answers[verb] = answer }) { server, session, url in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .secureConnectionFailed)
      #expect(!server.commands.contains { $0.hasPrefix("RETR") || (verb == "AUTH" && $0.hasPrefix("USER")) })
    }
  }

  /// Bytes behind the answer to AUTH, which came unprotected, are not read as protected ones.
  @Test func whatCameUnprotectedIsNotBelieved() async throws {
    try await withSecureFTP(.file().with { $0.answers["AUTH"] = "234 go\r\n230 already in\r\n" }) { _, session, url in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .secureConnectionFailed)
    }
  }
}
