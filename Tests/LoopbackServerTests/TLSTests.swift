import Foundation
import LoopbackServer
import Testing

@Suite struct TLSTests {
  private let certificates: TestCertificates

  init() throws {
    certificates = try TestCertificates.shared()
  }

  /// curl's exit code for a certificate it does not accept (CURLE_PEER_FAILED_VERIFICATION).
  private static let refused: Int32 = 60

  @Test(arguments: ["localhost", "127.0.0.1"])
  func servesWithACertificateOfTheAuthority(_ host: String) async throws {
    var tls = try ServerTLS.localhost()
    let names = Recorder<String?>()
    tls.serverNames = names
    let server = try await LoopbackServer.start(tls: tls) { .ok("secure \($0.path)") }
    let result = try await curl(
      "--cacert", certificates.authorityFile, "-w", "|%{http_version}", server.url("/x", host: host).absoluteString)
    #expect(result.text == "secure /x|1.1", "\(result.errors)")
    let request = try await server.nextRequest()
    #expect(request.tls?.negotiatedProtocol == "http/1.1")
    #expect(request.tls?.clientCertificate == nil)
    // An address is never sent as a name (RFC 6066 §3).
    #expect(names.all == [host == "localhost" ? "localhost" : nil])
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func certificatesAreWhatTheyAreCalled() async throws {
    let rows: [(TestCertificates.Identity, Int32, String)] = [
      (certificates.chained, 0, ""), (certificates.expired, Self.refused, "expired"),
      (certificates.notYetValid, Self.refused, "not yet valid"),
      (certificates.wrongHost, Self.refused, "no alternative certificate subject name"),
      (certificates.selfSigned, Self.refused, "self-signed"),
      (certificates.incompleteChain, Self.refused, "unable to get local issuer"),
    ]
    for (identity, status, reason) in rows {
      let server = try await LoopbackServer.start(tls: ServerTLS(identity)) { _ in .ok("served") }
      let result = try await curl(
        "--cacert", certificates.authorityFile, server.url("/", host: "localhost").absoluteString)
      #expect(result.status == status, "\(identity.certificateFile): \(result.errors)")
      if status != 0 {
        #expect(result.errors.localizedCaseInsensitiveContains(reason), "\(result.errors)")
        #expect(server.requests.isEmpty)
      }
      await server.shutdown()
    }
  }

  @Test func anUnknownAuthorityIsRefusedAndTheServerSeesIt() async throws {
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("served") }
    #expect(try await curl(server.url("/", host: "localhost").absoluteString).status == Self.refused)
    guard case .connectionFailed = try await server.nextFailure().reason else {
      Issue.record("\(server.failures)")
      return
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func requiresAClientCertificate() async throws {
    var tls = try ServerTLS.localhost()
    tls.clientCertificates = .required
    let server = try await LoopbackServer.start(tls: tls) { _ in .ok("hello client") }
    let url = server.url("/", host: "localhost").absoluteString
    #expect(try await curl("--cacert", certificates.authorityFile, url).status != 0)
    #expect(server.requests.isEmpty)
    let result = try await curl(
      "--cacert", certificates.authorityFile, "--cert", certificates.client.certificateFile, "--key",
      certificates.client.keyFile, url)
    #expect(result.text == "hello client", "\(result.errors)")
    #expect(try await server.nextRequest().tls?.clientCertificate?.isEmpty == false)
    let packed = try await curl(
      "--cacert", certificates.authorityFile, "--cert-type", "P12", "--cert",
      "\(certificates.clientPKCS12File):\(certificates.clientPassphrase)", url)
    #expect(packed.text == "hello client", "\(packed.errors)")
    await server.shutdown()
  }

  /// RFC 9112 §9.8: without a close_notify a client cannot tell the end from a cut.
  @Test func anAbruptCloseOmitsTheGoodbye() async throws {
    let server = try await LoopbackServer.start(tls: .localhost()) { request in
      Reply([.head(200), .body("all?"), request.path == "/cut" ? .closeAbruptly : .closeGracefully])
    }
    for (path, isCut) in [("/whole", false), ("/cut", true)] {
      let result = try await run(
        "sh",
        [
          "-c", "printf 'GET \(path) HTTP/1.1\\r\\n\\r\\n' | openssl s_client -quiet -connect 127.0.0.1:\(server.port)",
        ])
      #expect(result.text.hasSuffix("all?"))
      #expect(result.errors.contains("unexpected eof") == isCut, "\(result.errors)")
    }
    await server.shutdown()
  }

  @Test func streamsOverTLS() async throws {
    let pattern = BytePattern(seed: 21)
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .pattern(pattern, count: 20_000_000) }
    let result = try await curl(
      "--cacert", certificates.authorityFile, server.url("/", host: "localhost").absoluteString)
    #expect(result.output.count == 20_000_000)
    #expect(pattern.matches(result.output))
    await server.shutdown()
  }
}
