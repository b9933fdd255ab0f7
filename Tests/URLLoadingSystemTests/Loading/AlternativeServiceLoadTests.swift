import Foundation
import HTTPSemantics
import HTTPTransport
import LoopbackServer
import SystemFakes
import Testing

@testable import URLLoadingSystem

/// What servers say in Alt-Svc is remembered by the session that heard it.
@Suite struct AlternativeServiceLoadTests {
  private func known(_ session: URLSession, _ server: LoopbackServer) -> [AlternativeService] {
    let key = ConnectionKey(
      scheme: server.url().scheme == "https" ? .https : .http, host: "localhost", port: server.port)
    return (session.engine as? LoadingEngine)?.transport.alternatives.services(for: key) ?? []
  }

  @Test(arguments: ["h2", "http/1.1", nil]) func isRemembered(over protocolName: String?) async throws {
    var tls: ServerTLS?
    if let protocolName {
      var secure = try ServerTLS.localhost()
      secure.applicationProtocols = [protocolName]
      tls = secure
    }
    let server = try await LoopbackServer.start(tls: tls) { request in
      switch request.path {
      case "/misdirected": .status(421, fields: [("Alt-Svc", "h3=\":2\"")])
      case "/silent": .ok("")
      default: .status(200, fields: [("Alt-Svc", "h3=\":1\"; ma=3600"), ("Age", "10")])
      }
    }
    let networks = FakeNetworks()
    let configuration = URLSessionConfiguration.loopback
    configuration.networks = networks
    let session = URLSession(configuration: configuration)
    func load(_ path: String) async throws { _ = try await session.data(from: server.url(path, host: "localhost")) }
    let expected = protocolName == nil ? 0 : 1
    try await load("/")
    #expect(known(session, server).count == expected)
    try await load("/silent")
    #expect(known(session, server).map(\.port) == (expected == 0 ? [] : [1]))
    try await load("/misdirected")
    #expect(known(session, server).isEmpty)
    try await load("/")
    #expect(known(session, server).count == expected)
    networks.become([])
    #expect(known(session, server).isEmpty)
    try await load("/")
    await session.flush()
    #expect(known(session, server).count == expected)
    await session.reset()
    #expect(known(session, server).isEmpty && !networks.isObserved)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
