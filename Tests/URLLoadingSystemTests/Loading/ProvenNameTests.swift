import Foundation
import LoopbackServer
import RealServers
import SystemServices
import Testing
import URLLoadingSystem

/// Names that must be resolved with proof (`requiresDNSSECValidation`), against systemd-resolved as programs see it.
@Suite(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
struct ProvenNameTests {
  private static let loopback: [UInt8] = [127, 0, 0, 1]
  /// Nobody listens there: the other address is tried, too.
  private static let nobody = [UInt8](repeating: 0, count: 15) + [1]

  private func withResolver(_ body: (LoopbackServer, ProvenNames) async throws -> Void) async throws {
    let resolver = try await MockResolved.start([
      .init("signed.test", Self.loopback, isProven: true), .init("plain.test", Self.loopback, isProven: false),
      .init("localhost", Self.loopback, isProven: false), .init("both.test", Self.nobody, isProven: true),
      .init("both.test", Self.loopback, isProven: true), .init("half.test", Self.loopback, isProven: true),
      .init("half.test", Self.loopback, isProven: false),
    ])
    let server = try await LoopbackServer.start { _ in .ok("here") }
    try await body(server, ProvenNames(address: resolver.address))
    try await server.expectNoOpenConnections()
    await server.shutdown()
    await resolver.stop()
  }

  private func session(_ names: ProvenNames, _ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.provenNames = names
    change(configuration)
    return URLSession(configuration: configuration)
  }

  /// What the session or the request demands; the other one does not take it back.
  @Test(arguments: [false, true]) func onlyProvenNamesAreConnectedTo(_ bySession: Bool) async throws {
    try await withResolver { server, names in
      let session = session(names) { $0.requiresDNSSECValidation = bySession }
      for (host, isProven) in [
        ("signed.test", true), ("both.test", true), ("127.0.0.1", true), ("plain.test", false), ("half.test", false),
        ("missing.test", false),
      ] {
        var request = URLRequest(url: server.url("/", host: host))
        request.requiresDNSSECValidation = !bySession
        let before = server.connectionCount
        if isProven {
          let (data, _) = try await session.data(for: request)
          #expect(data == Data("here".utf8), "\(host)")
        } else {
          let error = await #expect(throws: URLError.self, "\(host)") { _ = try await session.data(for: request) }
          #expect(error?.code == .dnsLookupFailed && error?.failingURL == request.url)
          #expect(server.connectionCount == before)
        }
      }
      session.invalidateAndCancel()
    }
  }

  /// The connection of a request that trusts any resolver is none for one that does not.
  @Test func openConnectionsAreNoWayAround() async throws {
    try await withResolver { server, names in
      let session = session(names)
      var request = URLRequest(url: server.url("/", host: "localhost"))
      let (data, _) = try await session.data(for: request)
      #expect(data == Data("here".utf8))
      request.requiresDNSSECValidation = true
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .dnsLookupFailed)
      session.invalidateAndCancel()
    }
  }

  /// Behind a proxy the name is resolved by the proxy, which proves nothing to us.
  @Test func aProxyCanNotProveAName() async throws {
    try await withResolver { server, names in
      let session = session(names) {
        $0.requiresDNSSECValidation = true
        $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": server.port]
      }
      let url = try #require(URL(string: "http://signed.test/"))
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .dnsLookupFailed && server.connectionCount == 0)
      session.invalidateAndCancel()
    }
  }

  @Test func streamsNeedProofToo() async throws {
    try await withResolver { server, names in
      let session = session(names) { $0.requiresDNSSECValidation = true }
      let task = session.streamTask(withHostName: "plain.test", port: server.port)
      task.resume()
      let error = await #expect(throws: URLError.self) { try await task.write(Data([1]), timeout: 30) }
      #expect(error?.code == .dnsLookupFailed)
      session.invalidateAndCancel()
    }
  }

  @Test func withoutAnybodyToAskThereIsNoProof() async throws {
    let session = session(ProvenNames(address: "unix:path=/nowhere/bus")) { $0.requiresDNSSECValidation = true }
    let url = try #require(URL(string: "http://localhost:9/"))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .dnsLookupFailed)
    session.invalidateAndCancel()
  }
}
