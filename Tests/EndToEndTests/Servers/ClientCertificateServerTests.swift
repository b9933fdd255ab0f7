import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// Servers that people run, set up to want a certificate of every client.
@Suite(.fewAtATime, .enabled(if: ServerSite.areAllHere, "\(ServerSite.advice)"))
struct ClientCertificateServerTests {
  private final class Presenter: NSObject, URLSessionDelegate {
    let credential: URLCredential?
    let asked = Recorder<URLProtectionSpace>()

    init(_ credential: URLCredential?) { self.credential = credential }

    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
      asked.record(challenge.protectionSpace)
      guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate else {
        return (.performDefaultHandling, nil)
      }
      return (.useCredential, credential)
    }
  }

  private func start(_ kind: ServerSite.Kind, nginx extra: String = "") async throws -> RealServer {
    let identity = try TestCertificates.shared().localhost
    let tls = TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    let server: RealServer
    switch kind {
    case .nginx:
      server = try await Nginx.start(
        tls: tls,
        extra: """
          ssl_verify_client on;
          ssl_client_certificate "\(identity.authorityFile)";
          \(extra)
          """)
    case .apache:
      server = try await Apache.start(
        tls: tls,
        extra: """
          SSLVerifyClient require
          SSLCACertificateFile "\(identity.authorityFile)"
          """)
    }
    try "for members".write(toFile: server.documentRoot + "/members.txt", atomically: false, encoding: .utf8)
    return server
  }

  private func session(_ delegate: Presenter) throws -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(try TestCertificates.shared().authorityFile)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  @Test(arguments: ServerSite.Kind.allCases) func anIdentityOpensTheDoor(_ kind: ServerSite.Kind) async throws {
    let files = try TestCertificates.shared().client
    let identity = try SecIdentity(
      pemCertificate: Data(contentsOf: URL(fileURLWithPath: files.certificateFile)),
      pemPrivateKey: Data(contentsOf: URL(fileURLWithPath: files.keyFile)))
    let server = try await start(kind)
    let presenter = Presenter(URLCredential(identity: identity, certificates: nil, persistence: .forSession))
    let session = try session(presenter)
    for _ in 0..<3 {
      let (data, response) = try await session.data(from: server.secureURL("/members.txt"))
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      #expect(data == Data("for members".utf8))
    }
    // The connection is kept: each question was asked once.
    let methods = presenter.asked.all.map(\.authenticationMethod)
    #expect(methods == [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate])
    #expect(presenter.asked.all.last?.distinguishedNames?.count == 1)
    session.invalidateAndCancel()
    await server.stop()
  }

  /// TLS 1.3 hides whom the server accepts, with the suite that was agreed on.
  @Test(arguments: ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
  func theAuthoritiesAreReadWithEverySuite(_ suite: String) async throws {
    let server = try await start(
      .nginx, nginx: "ssl_prefer_server_ciphers on;\n    ssl_conf_command Ciphersuites \(suite);")
    let presenter = Presenter(nil)
    let session = try session(presenter)
    _ = try await session.data(from: server.secureURL("/members.txt"))
    let pem = try Data(contentsOf: URL(fileURLWithPath: TestCertificates.shared().authorityFile))
    let name = SecCertificate.certificates(inPEM: pem).first.flatMap { SecCertificateCopyNormalizedSubjectSequence($0) }
    #expect(name != nil && presenter.asked.all.last?.distinguishedNames?.first == name)
    session.invalidateAndCancel()
    await server.stop()
  }

  /// nginx answers with a status, Apache with an alert.
  @Test(arguments: ServerSite.Kind.allCases) func nobodyIsLetInWithoutOne(_ kind: ServerSite.Kind) async throws {
    let server = try await start(kind)
    let session = try session(Presenter(nil))
    do {
      let (_, response) = try await session.data(from: server.secureURL("/members.txt"))
      #expect((response as? HTTPURLResponse)?.statusCode == 400 && kind == .nginx)
    } catch let error as URLError { #expect(error.code == .clientCertificateRequired && kind == .apache) }
    session.invalidateAndCancel()
    await server.stop()
  }
}
