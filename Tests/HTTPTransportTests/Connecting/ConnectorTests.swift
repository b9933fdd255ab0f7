import LoopbackServer
import NIOCore
import SystemServices
import Testing

@testable import HTTPTransport

@Suite struct ConnectorTests {
  @Test func aConnectionThatIsGivenUpWhileTheAuthoritiesAreReadIsNotBegun() async throws {
    let authorities = try PipedAuthorities()
    defer { authorities.remove() }
    let asked = Recorder<NameQuestion>()
    let causes = Recorder<String>()
    var configuration = TransportConfiguration()
    configuration.trustRoots = .file(authorities.path)
    configuration.names = NameLookups(on: BlockingLanes(limit: 4)) {
      asked.record($0)
      return .success([NetworkAddress([127, 0, 0, 1])])
    }
    let loop = LoopExecutor.all[0].loop
    let connector = Connector(loop: loop, tls: TLSContexts(configuration: configuration), configuration)
    let attempt = try await loop.submit {
      connector.connect(to: ConnectionKey(scheme: .https, host: "a.example", port: 443)) { result in
        switch result {
        case .success: causes.record("none")
        case .failure(let failure): causes.record("\(failure.cause)")
        }
      }
    }.get()
    let writer = try await authorities.opened()
    try await loop.submit { attempt.giveUp() }.get()
    #expect(authorities.end(writer))
    let cause = try await causes.next()
    #expect(cause == "\(TransportError.shutDown)" && asked.all.isEmpty)
  }
}
