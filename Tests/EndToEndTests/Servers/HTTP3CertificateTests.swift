import Foundation
import HTTPTransport
import LoopbackServer
import RealServers
import Synchronization
import SystemServices
import Testing
import URLLoadingSystem

/// Certificates of the client over HTTP/3: the same questions and answers as over TCP.
@Suite(.fewAtATime, .enabled(if: HTTP3Support.runsHere && InstalledServer.caddy.runsHere, "\(HTTP3Support.advice)"))
struct HTTP3CertificateTests {
  private enum Insistence {
    case asks, insists
  }

  private func withCaddy(
    _ insistence: Insistence, presenting files: TestCertificates.Identity?,
    disposition: URLSession.AuthChallengeDisposition = .useCredential, names: NameLookups? = nil,
    _ body: (RealServer, URLSession, IdentityLog) async throws -> Void
  ) async throws {
    let certificates = try TestCertificates.shared()
    let identity = certificates.localhost
    let mode = insistence == .asks ? "request" : "require_and_verify"
    let server = try await Caddy.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile),
      clientCertificates: "mode \(mode)\ntrusted_ca_cert_file \(certificates.authorityFile)")
    try "small".write(toFile: server.documentRoot + "/text.txt", atomically: false, encoding: .utf8)
    let credential = try files.map { files in
      URLCredential(
        identity: try SecIdentity(
          pemCertificate: Data(contentsOf: URL(fileURLWithPath: files.certificateFile)),
          pemPrivateKey: Data(contentsOf: URL(fileURLWithPath: files.keyFile))),
        certificates: nil, persistence: .forSession)
    }
    let delegate = IdentityLog(credential, disposition)
    try await HTTP3Support.withSession(
      trusting: identity.authorityFile, ports: [try #require(server.securePort)], configure: { $0.names = names },
      delegate: delegate
    ) { session, _ in
      try await body(server, session, delegate)
    } finally: {
      await server.stop()
    }
  }

  @Test func theIdentityIsChosenInTheHandshake() async throws {
    try await withCaddy(.insists, presenting: TestCertificates.shared().client) { server, session, delegate in
      for _ in 0..<2 {
        let (data, _) = try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
        #expect(String(decoding: data, as: UTF8.self) == "small")
      }
      #expect(delegate.protocols == ["h3"])
      #expect(Set(delegate.all.compactMap(\.localPort)).count == 1)
      let space = try #require(delegate.spaces.first)
      #expect(delegate.spaces.count == 1 && space.port == server.securePort)
      let authority = try #require(
        SecCertificate.certificates(
          inPEM: Data(contentsOf: URL(fileURLWithPath: TestCertificates.shared().authorityFile))
        ).first)
      #expect(space.distinguishedNames == [try #require(SecCertificateCopyNormalizedSubjectSequence(authority))])
    }
  }

  /// The address that has asked for a certificate no longer answers: the certificate is shown at the other one.
  @Test func theOtherAddressIsTriedWithTheIdentityToo() async throws {
    let names = NameLookups(on: BlockingLanes(limit: 4)) { question in
      guard question.family == .v4 else { return .failure(NameFailure(reason: "no such name", isAbsence: true)) }
      return .success([NetworkAddress([127, 0, 0, 1]), NetworkAddress([127, 0, 0, 2])])
    }
    try await withCaddy(.insists, presenting: TestCertificates.shared().client, names: names) {
      server, session, delegate in
      let port = try #require(server.securePort)
      var options = DatagramRelay.Options()
      options.clients = 1
      let first = try await DatagramRelay.start(to: port, options: options)
      options.host = "127.0.0.2"
      options.port = first.port
      options.clients = .max
      let second = try await DatagramRelay.start(to: port, options: options)
      let url = try #require(URL(string: "https://localhost:\(first.port)/text.txt"))
      let (data, _) = try await session.data(for: HTTP3Support.request(url))
      #expect(String(decoding: data, as: UTF8.self) == "small")
      #expect(delegate.all.map(\.remoteAddress) == ["127.0.0.2"])
      #expect(delegate.spaces.count == 1 && delegate.protocols == ["h3"])
      session.invalidateAndCancel()
      await first.close()
      await second.close()
    }
  }

  @Test func aServerThatOnlyAsksServes() async throws {
    try await withCaddy(.asks, presenting: nil) { server, session, delegate in
      let (data, _) = try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
      #expect(String(decoding: data, as: UTF8.self) == "small")
      #expect(delegate.protocols == ["h3"] && delegate.spaces.count == 1)
    }
  }

  @Test func aServerThatInsistsGetsNothing() async throws {
    try await withCaddy(.insists, presenting: nil) { server, session, delegate in
      let error = await #expect(throws: URLError.self) {
        try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
      }
      #expect(error?.code == .clientCertificateRequired, "\(error?.localizedDescription ?? "")")
      #expect(delegate.spaces.count == 1)
    }
  }

  @Test func anotherAuthoritysIdentityIsRejected() async throws {
    try await withCaddy(.insists, presenting: TestCertificates.shared().selfSigned) { server, session, delegate in
      let error = await #expect(throws: URLError.self) {
        try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
      }
      #expect(error?.code == .clientCertificateRejected, "\(error?.localizedDescription ?? "")")
      #expect(delegate.spaces.count == 1)
    }
  }

  @Test func theChallengeCanBeCancelled() async throws {
    try await withCaddy(.insists, presenting: nil, disposition: .cancelAuthenticationChallenge) {
      server, session, delegate in
      let error = await #expect(throws: URLError.self) {
        try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
      }
      #expect(error?.code == .cancelled)
      #expect(delegate.spaces.count == 1)
    }
  }
}

/// Says who the client is, and keeps the questions.
private final class IdentityLog: TransactionLog, @unchecked Sendable {
  private let credential: URLCredential?
  private let disposition: URLSession.AuthChallengeDisposition
  private let asked = Mutex<[URLProtectionSpace]>([])

  init(_ credential: URLCredential?, _ disposition: URLSession.AuthChallengeDisposition) {
    self.credential = credential
    self.disposition = disposition
  }

  var spaces: [URLProtectionSpace] { asked.withLock { $0 } }

  override func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate else {
      return completionHandler(.performDefaultHandling, nil)
    }
    asked.withLock { $0.append(challenge.protectionSpace) }
    completionHandler(disposition, disposition == .useCredential ? credential : nil)
  }
}
