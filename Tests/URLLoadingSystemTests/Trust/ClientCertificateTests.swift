import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct ClientCertificateTests {
  private func identity(_ files: TestCertificates.Identity) throws -> SecIdentity {
    try SecIdentity(
      pemCertificate: Data(contentsOf: URL(fileURLWithPath: files.certificateFile)),
      pemPrivateKey: Data(contentsOf: URL(fileURLWithPath: files.keyFile)))
  }

  private func withServer(
    _ edition: TLSEdition, _ wanted: ServerTLS.ClientCertificates,
    _ body: (LoopbackServer, TestCertificates) async throws
      -> Void
  ) async throws {
    let certificates = try TestCertificates.shared()
    var tls = edition.of(certificates.localhost)
    tls.clientCertificates = wanted
    let server = try await LoopbackServer.start(tls: tls) { _ in .ok("secret") }
    try await body(server, certificates)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The identity is chosen in the middle of the handshake, knowing whom the server trusts.
  @Test(arguments: TLSEdition.allCases) func theIdentityIsChosenLate(_ edition: TLSEdition) async throws {
    try await withServer(edition, .required) { server, certificates in
      let delegate = ChallengeDelegate.presenting(
        URLCredential(identity: try identity(certificates.client), certificates: nil, persistence: .forSession))
      let session = secureSession(delegate, trusting: certificates.authorityFile)
      for _ in 0..<2 { #expect(try await session.data(from: server.url()).0 == Data("secret".utf8)) }
      #expect(server.connectionCount == 1)
      let asked = delegate.asked.all.map(\.protectionSpace)
      #expect(
        asked.map(\.authenticationMethod) == [
          NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
        ])
      let authority = try #require(
        SecCertificate.certificates(inPEM: Data(contentsOf: URL(fileURLWithPath: certificates.authorityFile))).first)
      let name = try #require(SecCertificateCopyNormalizedSubjectSequence(authority))
      #expect(asked.last?.distinguishedNames == [name])
      #expect(asked.last?.host == "127.0.0.1" && asked.last?.port == server.port)
      session.invalidateAndCancel()
    }
  }

  @Test(arguments: TLSEdition.allCases) func anIdentityFromPKCS12Works(_ edition: TLSEdition) async throws {
    try await withServer(edition, .required) { server, certificates in
      var items: CFArray?
      let file = try Data(contentsOf: URL(fileURLWithPath: certificates.clientPKCS12File))
      let options = [kSecImportExportPassphrase as String: certificates.clientPassphrase]
      #expect(SecPKCS12Import(file as CFData, options as CFDictionary, &items) == errSecSuccess)
      let item = try #require(items?.first as? [String: Any])
      let identity = try #require(item[kSecImportItemIdentity as String] as? SecIdentity)
      let session = secureSession(
        ChallengeDelegate.presenting(URLCredential(identity: identity, certificates: nil, persistence: .none)),
        trusting: certificates.authorityFile)
      #expect(try await session.data(from: server.url()).0 == Data("secret".utf8))
      session.invalidateAndCancel()
    }
  }

  @Test(arguments: TLSEdition.allCases) func aServerThatInsistsGetsNothing(_ edition: TLSEdition) async throws {
    try await withServer(edition, .required) { server, certificates in
      for delegate in [nil, ChallengeDelegate.presenting(nil), .answering(.performDefaultHandling)] {
        let session = secureSession(delegate, trusting: certificates.authorityFile)
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
        #expect(error?.code == .clientCertificateRequired, "\(error?.localizedDescription ?? "")")
        session.invalidateAndCancel()
      }
      #expect(server.requests.isEmpty)
    }
  }

  @Test(arguments: TLSEdition.allCases) func aServerThatOnlyAsksServes(_ edition: TLSEdition) async throws {
    try await withServer(edition, .requested) { server, certificates in
      let session = secureSession(ChallengeDelegate.presenting(nil), trusting: certificates.authorityFile)
      let (data, _) = try await session.data(from: server.url())
      #expect(data == Data("secret".utf8))
      session.invalidateAndCancel()
    }
  }

  @Test(arguments: TLSEdition.allCases) func anotherAuthoritysIdentityIsRejected(_ edition: TLSEdition) async throws {
    try await withServer(edition, .required) { server, certificates in
      let stranger = URLCredential(
        identity: try identity(certificates.selfSigned), certificates: nil, persistence: .none)
      let session = secureSession(ChallengeDelegate.presenting(stranger), trusting: certificates.authorityFile)
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(error?.code == .clientCertificateRejected, "\(error?.localizedDescription ?? "")")
      session.invalidateAndCancel()
    }
  }

  @Test func theChallengeCanBeCancelled() async throws {
    try await withServer(.tls13, .required) { server, certificates in
      let delegate = ChallengeDelegate { challenge, answer in
        let isTrust = challenge.protectionSpace.serverTrust != nil
        answer(isTrust ? .performDefaultHandling : .cancelAuthenticationChallenge, nil)
      }
      let session = secureSession(delegate, trusting: certificates.authorityFile)
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(error?.code == .cancelled)
      session.invalidateAndCancel()
    }
  }
}
