import Foundation
import HTTPTransport
import LoopbackServer
import SystemServices
import Testing
import URLLoadingSystem

/// How names were resolved, of real loads. Every name is this machine.
@Suite struct DomainResolutionMetricsTests {
  private static let threads = BlockingLanes(limit: 4)

  /// systemd-resolved with nothing in its cache.
  private struct EncryptedResolved: ResolvedAsking {
    func answer(_ name: String, type: UInt16) throws(ResolvedCache.Failure) -> ResolvedCache.Answer { throw .absent }
    func encryption() throws(ResolvedCache.Failure) -> EncryptedDNS { .always }
  }

  private func names(resolver: String, resolved: ResolvedQuestions? = nil) -> NameLookups {
    let sources = NameSources(
      switches: nil, resolver: resolver, options: nil, hosts: "127.0.0.1 listed.test", ownName: "")
    return NameLookups(on: Self.threads, sources: { sources }, resolved: resolved) { question in
      question.family == .v4
        ? .success([NetworkAddress([127, 0, 0, 1])])
        : .failure(NameFailure(reason: "no such name", isAbsence: true))
    }
  }

  private func session(_ names: NameLookups) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.names = names
    return URLSession(configuration: configuration)
  }

  private func resolution(
    _ url: URL, in session: URLSession
  ) async throws -> (URLSessionTaskMetrics.DomainResolutionProtocol, isReused: Bool) {
    let metrics = try await MetricsTests.metrics(URLRequest(url: url), in: session)
    let transaction = try #require(metrics.transactionMetrics.first)
    return (transaction.domainResolutionProtocol, transaction.isReusedConnection)
  }

  @Test(
    arguments: [
      ("nameserver 192.0.2.1", "a.test", .udp), ("nameserver 192.0.2.1\noptions use-vc", "a.test", .tcp),
      ("nameserver 192.0.2.1", "listed.test", .unknown), ("nameserver 192.0.2.1", "127.0.0.1", .unknown),
      ("nameserver 127.0.0.1", "a.test", .unknown), ("nameserver 127.0.0.53", "a.test", .unknown),
    ] as [(String, String, URLSessionTaskMetrics.DomainResolutionProtocol)])
  func theMachinesSettingsSay(
    _ resolver: String, _ host: String, _ expected: URLSessionTaskMetrics.DomainResolutionProtocol
  ) async throws {
    let server = try await LoopbackServer.start { _ in .ok("") }
    let session = session(names(resolver: resolver))
    let first = try await resolution(server.url("/", host: host), in: session)
    #expect(first.0 == expected && !first.isReused)
    let second = try await resolution(server.url("/", host: host), in: session)
    #expect(second.0 == .unknown && second.isReused)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// More may be known of an answer that was kept than when it came.
  @Test func resolvedSaysThatItAsksOverTLS() async throws {
    let server = try await LoopbackServer.start { _ in .ok("") }
    let resolved = ResolvedQuestions(on: BlockingLanes(limit: 1)) { EncryptedResolved() }
    let names = names(resolver: "nameserver 127.0.0.53", resolved: resolved)
    let url = server.url("/", host: "a.test")
    try await eventually("the resolution to be known") {
      let session = session(names)
      defer { session.invalidateAndCancel() }
      return try await resolution(url, in: session).0 == .tls
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
