import Foundation
import LoopbackServer
import NIOSSL
import Testing
import URLLoadingSystem

@Suite struct TLSVersionTests {
  struct Case: Sendable {
    let server: ClosedRange<Int>
    let session: ClosedRange<Int>
    let works: Bool
  }

  /// The versions after the 1: a server of 2...3 speaks TLS 1.2 and 1.3.
  static let cases = [
    Case(server: 2...2, session: 2...3, works: true), Case(server: 3...3, session: 2...3, works: true),
    Case(server: 2...2, session: 3...3, works: false), Case(server: 3...3, session: 2...2, works: false),
    Case(server: 2...3, session: 2...2, works: true),
  ]

  @Test(arguments: cases.indices) func onlyVersionsWithinTheLimitsAreSpoken(index: Int) async throws {
    let test = Self.cases[index]
    let certificates = try TestCertificates.shared()
    var tls = ServerTLS(certificates.localhost)
    tls.minimumVersion = test.server.lowerBound == 3 ? .tlsv13 : .tlsv12
    tls.maximumVersion = test.server.upperBound == 3 ? .tlsv13 : .tlsv12
    let server = try await LoopbackServer.start(tls: tls) { _ in .ok("secret") }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.trustRoots = .file(certificates.authorityFile)
    configuration.tlsMinimumSupportedProtocolVersion = test.session.lowerBound == 3 ? .TLSv13 : .TLSv12
    configuration.tlsMaximumSupportedProtocolVersion = test.session.upperBound == 3 ? .TLSv13 : .TLSv12
    let session = URLSession(configuration: configuration)
    if test.works {
      #expect(try await session.data(from: server.url()).0 == Data("secret".utf8))
    } else {
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(error?.code == .secureConnectionFailed)
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
