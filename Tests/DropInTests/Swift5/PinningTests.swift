import Foundation
import FoundationNetworking
import LoopbackServer
import Testing

@Suite struct PinningTests {
  private func certificate(_ file: String) throws -> SecCertificate {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let lines = text.components(separatedBy: "-----END CERTIFICATE-----")[0].components(separatedBy: "\n")
    let data = Data(base64Encoded: lines.filter { !$0.hasPrefix("-----") }.joined())
    return try #require(data.flatMap { SecCertificateCreateWithData(nil, $0 as CFData) })
  }

  @Test func pinsAreKeptAndBroken() async throws {
    let made = try TestCertificates.shared()
    let own = try certificate(made.localhost.certificateFile)
    let authority = try certificate(made.authorityFile)
    let other = try certificate(made.wrongHost.certificateFile)
    let key = try #require(SecCertificateCopyKey(own))
    let otherKey = try #require(SecCertificateCopyKey(other))
    let cases: [(TrustEvaluating, Bool)] = [
      (PinnedCertificatesEvaluator(certificates: [authority], acceptsSelfSigned: true), true),
      (PinnedCertificatesEvaluator(certificates: [own], acceptsSelfSigned: true), true),
      (PinnedCertificatesEvaluator(certificates: [other], acceptsSelfSigned: true), false),
      (PinnedCertificatesEvaluator(certificates: [authority]), false), (DefaultEvaluator(), false),
      (PublicKeysEvaluator(keys: [key]), true), (PublicKeysEvaluator(keys: [otherKey]), false),
    ]
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("secret") }
    for (evaluator, isAccepted) in cases {
      let delegate = HostPinningDelegate(evaluators: ["localhost": evaluator])
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
      let result = await withCheckedContinuation { continuation in
        session.dataTask(with: server.url("/", host: "localhost")) { data, _, error in
          continuation.resume(returning: (data, (error as? URLError)?.code))
        }.resume()
      }
      #expect(result.0 == (isAccepted ? Data("secret".utf8) : nil))
      #expect(result.1 == (isAccepted ? nil : .cancelled))
      #expect(delegate.hosts == ["localhost"] && delegate.failures.isEmpty == isAccepted)
      session.invalidateAndCancel()
    }
    #expect(server.requests.count == 3)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func anIdentityIsImported() throws {
    let made = try TestCertificates.shared()
    let file = try Data(contentsOf: URL(fileURLWithPath: made.clientPKCS12File))
    let (identity, chain) = try #require(loadIdentity(from: file, password: made.clientPassphrase))
    let credential = URLCredential(identity: identity, certificates: chain, persistence: .forSession)
    #expect(credential.identity == identity && credential.certificates.count == chain.count)
    #expect(loadIdentity(from: file, password: "wrong") == nil)
  }
}
