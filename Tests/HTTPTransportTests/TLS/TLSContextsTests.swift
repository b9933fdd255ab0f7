import LoopbackServer
import NIOCore
import SystemFakes
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

  private final class Trusting: HandshakeClient {
    let mayBeAsked = false
    let limits: HandshakeLimits

    init(_ limits: HandshakeLimits = HandshakeLimits()) { self.limits = limits }

    func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>) { verdict.succeed() }
    func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>) {
      choice.succeed(nil)
    }
  }

  /// Until a handshake is complete, and after one that failed, the library may ask its attempt.
  @Test func contextServesOneAttemptAtATime() async throws {
    let contexts = TLSContexts(configuration: TransportConfiguration())
    let loop = LoopExecutor.all[0].loop
    try await loop.submit {
      var made: [ConnectionAttempt] = []
      defer { for attempt in made { attempt.giveUp() } }
      func attempt(_ limits: HandshakeLimits = HandshakeLimits()) -> ConnectionAttempt {
        let key = ConnectionKey(scheme: .https, host: "localhost", port: 443)
        let new = ConnectionAttempt(loop: loop, key: key, client: Trusting(limits), networks: FakeNetworks())
        made.append(new)
        return new
      }
      func attended(_ attempt: ConnectionAttempt) throws -> AttendedContext {
        try #require(try contexts.context(for: attempt).1)
      }
      let attempts = (0..<4).map { _ in attempt() }
      let first = try attended(attempts[0])
      let second = try attended(attempts[1])
      #expect(first !== second)
      contexts.completed(first)
      // Other terms need another one.
      let strict = try attended(attempt(HandshakeLimits(minimumVersion: 0x0304)))
      #expect(strict !== first)
      #expect(try attended(attempts[2]) === first)
      let third = try attended(attempts[3])
      #expect(third !== first && third !== second)
    }.get()
  }
}
