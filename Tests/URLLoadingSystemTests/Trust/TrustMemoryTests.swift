import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct TrustMemoryTests {
  private let policies = [SecPolicy(.server(host: "localhost"))]

  private func certificates(in file: String) throws -> [SecCertificate] {
    SecCertificate.certificates(inPEM: try Data(contentsOf: URL(fileURLWithPath: file)))
  }

  private func evaluation(trusting authority: [SecCertificate], of chain: [SecCertificate]) async -> TrustEvaluation {
    let settings = SecTrust.Settings(policies: policies, roots: .system)
    return await TrustEvaluator(settings, trusted: TrustedCertificates(authority)).evaluate(chain)
  }

  @Test func trustIsRememberedForOneHostAsLongAsTheCertificatesAreValid() async throws {
    let made = try TestCertificates.shared()
    let chain = try certificates(in: made.chained.certificateFile)
    let found = await evaluation(trusting: try certificates(in: made.authorityFile), of: chain)
    #expect(found.failure == nil)
    let memory = TrustMemory()
    let now = Date()
    #expect(memory.evaluation(of: chain, under: policies, at: now) == nil)
    memory.keep(found, of: chain, under: policies)
    // The next connection brings the same bytes as other objects.
    let again = chain.map { SecCertificate(derBytes: $0.derBytes) }
    let known = try #require(memory.evaluation(of: again, under: policies, at: now))
    #expect(known.failure == nil && known.chain == found.chain)
    #expect(memory.evaluation(of: chain, under: [SecPolicy(.server(host: "other.example"))], at: now) == nil)
    #expect(memory.evaluation(of: Array(chain.prefix(1)), under: policies, at: now) == nil)
    #expect(memory.evaluation(of: chain, under: policies, at: .distantPast) == nil)
    #expect(memory.evaluation(of: chain, under: policies, at: .distantFuture) == nil)
  }

  @Test func refusalsAndExceptionsAreNotRemembered() async throws {
    let chain = try certificates(in: try TestCertificates.shared().chained.certificateFile)
    var found = await evaluation(trusting: [], of: chain)
    #expect(found.failure != nil)
    let memory = TrustMemory()
    memory.keep(found, of: chain, under: policies)
    found.failure = nil
    found.isByException = true
    memory.keep(found, of: chain, under: policies)
    #expect(memory.evaluation(of: chain, under: policies, at: Date()) == nil)
  }

  @Test func sessionsUseTheMemoryOfTheirStore() async throws {
    let made = try TestCertificates.shared()
    let chain = try certificates(in: made.chained.certificateFile)
    let roots = TransportConfiguration.TrustRoots.file(made.authorityFile)
    let trust = SecTrust(certificates: chain, host: "localhost", roots: roots)
    #expect(await trust.evaluate().failure == nil)
    let trusted = await TrustStore.of(roots).certificates()
    #expect(trusted.memory.evaluation(of: chain, under: policies, at: Date()) != nil)
  }
}
