import Dispatch
import HTTPSemantics
import LoopbackServer
import NIOCore
import SystemServices
import Testing

@testable import HTTPTransport

/// A proxy of SOCKS 4 is told an address: the name is looked up when the connection to the proxy is there.
@Suite struct SOCKS4LookupTests {
  private static let threads = BlockingLanes(limit: 16)

  private let asked = Recorder<NameQuestion>()
  private let release = DispatchSemaphore(value: 0)
  private let outcomes = Recorder<String>()

  /// Connects to a host whose name has no answer before the test ends.
  private func withConnection(
    within limit: TimeAmount,
    _ body: (_ loop: any EventLoop, _ attempt: ConnectionAttempt) async throws -> Void
  ) async throws {
    let proxy = try await LoopbackServer.startRaw { connection in try await connection.waitUntilClosed() }
    let names = NameLookups(on: Self.threads) { [asked, release] question in
      asked.record(question)
      release.wait()
      return .failure(NameFailure(reason: "no answer", isAbsence: false))
    }
    var configuration = TransportConfiguration()
    configuration.names = names
    configuration.connectTimeout = limit
    let server = try #require(ProxyServer(url: "socks4://127.0.0.1:\(proxy.port)"))
    var key = ConnectionKey(scheme: .http, host: "a.example", port: 80)
    key.proxy = ProxyHop(server, use: .tunnel)
    let loop = LoopExecutor.all[0].loop
    let connector = Connector(loop: loop, tls: TLSContexts(configuration: configuration), configuration)
    let attempt = try await loop.submit { [outcomes, key] in
      connector.connect(to: key) { result in
        switch result {
        case .success(let established):
          established.discard()
          outcomes.record("connected")
        case .failure(let failure): outcomes.record("\(failure.cause)")
        }
      }
    }.get()
    _ = try await asked.next()
    try await body(loop, attempt)
    #expect(names.waiterCount == 0)
    release.signal()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  @Test func aConnectionThatIsGivenUpWaitsForNoAnswer() async throws {
    try await withConnection(within: .minutes(2)) { loop, attempt in
      try await loop.submit { attempt.giveUp() }.get()
      #expect(try await outcomes.next() == "\(TransportError.shutDown)")
    }
  }

  @Test func theLookupHasTheTimeOfTheConnection() async throws {
    try await withConnection(within: .seconds(1)) { _, _ in
      let outcome = try await outcomes.next()
      #expect(outcome.contains("SOCKS 4 needs an address of a.example: no answer in time"))
    }
  }
}
