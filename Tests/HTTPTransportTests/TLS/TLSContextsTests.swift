import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct TLSContextsTests {
  @Test func theLoopGoesOnWhileTheAuthoritiesAreRead() async throws {
    let authorities = try PipedAuthorities()
    defer { authorities.remove() }
    let server = try await LoopbackServer.start(tls: ServerTLS.localhost()) { _ in .ok("ok") }
    var configuration = TransportConfiguration()
    configuration.trustRoots = .file(authorities.path)
    let key = ConnectionKey(scheme: .https, host: "127.0.0.1", port: server.port)
    let load = Task { [configuration] in
      try await TransportOnLoop.run(configuration) { loop in try await loop.load(key) }
    }
    let writer = try await authorities.opened()
    // Something reads: whatever it is, every loop goes on.
    let turned = LoopExecutor.all.map { _ in Gate() }
    for (executor, gate) in zip(LoopExecutor.all, turned) { executor.loop.execute { gate.open() } }
    var isTurning = true
    for gate in turned where isTurning { isTurning = (try? await gate.wait(within: patience)) != nil }
    let isWritten = authorities.end(writer)
    #expect(isTurning && isWritten)
    let answer = try await load.value
    #expect(answer.status == 200 && answer.body == "ok")
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A second reading of the pipe would find it empty, or never open it.
  @Test func connectionsThatComeWhileTheAuthoritiesAreReadWaitForThatReading() async throws {
    let authorities = try PipedAuthorities()
    defer { authorities.remove() }
    var configuration = TransportConfiguration()
    configuration.trustRoots = .file(authorities.path)
    let contexts = TLSContexts(configuration: configuration)
    let loops = LoopExecutor.all.map(\.loop)
    let first = try #require(contexts.prepareUnattended(offersHTTP2: true, on: loops[0]))
    let writer = try await authorities.opened()
    let others = loops.compactMap { contexts.prepareUnattended(offersHTTP2: true, on: $0) }
    #expect(authorities.end(writer) && others.count == loops.count)
    try await within(patience, "the one reading") {
      for reading in [first] + others { try await reading.get() }
    }
    #expect(contexts.prepareUnattended(offersHTTP2: true, on: loops[0]) == nil)
  }
}
