import Dispatch
import HTTPSemantics
import LoopbackServer
import NIOCore
import NIOPosix
import SystemFakes
import SystemServices
import Testing

@testable import HTTPTransport

/// Connections over QUIC to names whose answers the test scripts.
@Suite(.enabled(if: TransportConfiguration.isBuiltWithHTTP3))
struct QUICDialingTests {
  private static let threads = BlockingLanes(limit: 16)
  private static let host = "one.loopback.example"
  private static let absent = NameAnswer.failure(NameFailure(reason: "no such name", isAbsence: true))

  private struct Enough: Error {}

  private final class Judge: HandshakeClient {
    let mayBeAsked: Bool
    let limits = HandshakeLimits()
    private let trusts: Bool

    init(trusts: Bool, mayBeAsked: Bool = false) {
      self.trusts = trusts
      self.mayBeAsked = mayBeAsked
    }

    func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>) {
      trusts ? verdict.succeed() : verdict.fail(TransportError.refused(Enough()))
    }

    func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>) {
      choice.succeed(nil)
    }
  }

  /// An app that is asked and thinks about it.
  private final class Undecided: HandshakeClient {
    let mayBeAsked = true
    let limits = HandshakeLimits()
    let verdicts = Recorder<EventLoopPromise<Void>>()

    func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>) { verdicts.record(verdict) }

    func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>) {
      choice.succeed(nil)
    }
  }

  /// Takes datagrams and answers none; notes the ports that they come from, one for each connection.
  private final class SilentServer: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    let ports = Recorder<Int>()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if let port = unwrapInboundIn(data).remoteAddress.port { ports.record(port) }
    }

    /// At every address of IPv4.
    func open() async throws -> any Channel {
      try await DatagramBootstrap(group: LoopExecutor.all[0].loop)
        .channelInitializer { $0.pipeline.addHandler(self) }
        .bind(host: "0.0.0.0", port: 0).get()
    }
  }

  private let named = Recorder<NameQuestion>()

  private func configuration(_ names: @escaping NameLookups.Ask) throws -> TransportConfiguration {
    var configuration = try TransportOnLoop.trusting()
    configuration.serviceRecords = nil
    configuration.names = NameLookups(on: Self.threads) { [named] in
      named.record($0)
      return names($0)
    }
    return configuration
  }

  private static func loopback(_ number: UInt8) -> NetworkAddress { NetworkAddress([127, 0, 0, number]) }

  private static let question = NameQuestion(host: host, family: .v4, onlyUsableFamilies: true)

  private func keep(_ address: NetworkAddress, in memory: NameMemory) {
    memory.note(.success([address]), to: Self.question, askedIn: memory.circumstances(), at: .now())
  }

  /// Begins a load that is tried over QUIC first.
  private func load(
    _ on: TransportOnLoop, port: Int, _ judge: any HandshakeClient = Judge(trusts: true)
  ) -> ConnectionWaiter {
    let key = ConnectionKey(scheme: .https, host: Self.host, port: port)
    return on.transport.lease(
      for: key, priority: 0.5, caller: on.executor, handshake: judge, assumesHTTP3: true)
  }

  /// The one that was kept is still tried when those come that the name servers tell of now.
  @Test func addressesThatAreNewAreTriedBesideKeptOnesThatDoNotAnswer() async throws {
    let server = SilentServer()
    let socket = try await server.open()
    let port = try #require(socket.localAddress?.port)
    var configuration = try configuration { $0.family == .v4 ? .success([Self.loopback(1)]) : Self.absent }
    // TCP is not tried meanwhile, which would ask them too.
    configuration.http3HeadStart = .seconds(60)
    keep(Self.loopback(2), in: configuration.names.memory)
    try await TransportOnLoop.run(configuration, host: Self.host) { on in
      let waiter = load(on, port: port)
      let exchange = Task(executorPreference: on.executor) { _ = try await waiter.exchange() }
      let kept = try await server.ports.next()
      try await eventually("a new address to be tried") { server.ports.all.contains { $0 != kept } }
      let count = server.ports.count
      try await eventually("the kept one to be tried on") { server.ports.all.dropFirst(count).contains(kept) }
      waiter.abort(Enough())
      await #expect(throws: Enough.self) { try await exchange.value }
      #expect(on.transport.configuration.names.waiterCount == 0)
    }
    #expect(named.all.count { $0.family == .v4 } == 1)
    try await socket.close()
  }

  /// The answer of the second family comes when the address of the first one has had its time, and does not answer.
  @Test func aFamilyThatIsAnsweredLateIsTriedBesideTheOther() async throws {
    let server = SilentServer()
    let socket = try await server.open()
    let port = try #require(socket.localAddress?.port)
    let isTried = DispatchSemaphore(value: 0)
    var configuration = try configuration { question in
      if question.family == .v4 { return .success([Self.loopback(1)]) }
      isTried.wait()
      // The kernel takes what is mapped to IPv6 for IPv4.
      return .success([NetworkAddress([UInt8](repeating: 0, count: 10) + [0xff, 0xff, 127, 0, 0, 2])])
    }
    configuration.http3HeadStart = .seconds(60)
    try await TransportOnLoop.run(configuration, host: Self.host) { on in
      let waiter = load(on, port: port)
      let exchange = Task(executorPreference: on.executor) { _ = try await waiter.exchange() }
      // The second datagram of a connection comes after about a second.
      let first = try await server.ports.first(2)
      isTried.signal()
      try await eventually("the other family to be tried") { server.ports.all.contains { $0 != first[0] } }
      let count = server.ports.count
      try await eventually("the first one to be tried on") { server.ports.all.dropFirst(count).contains(first[0]) }
      waiter.abort(Enough())
      await #expect(throws: Enough.self) { try await exchange.value }
    }
    try await socket.close()
  }

  /// As over TCP: the address may be that of another server by now.
  @Test(.enabled(if: HTTP3Front.runsHere)) func aKeptAddressWhoseServerIsRefusedIsForgotten() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.http3.tls()) { _ in .ok("here") }
    var configuration = try configuration { _ in Self.absent }
    configuration.http3HeadStart = .seconds(60)
    let memory = configuration.names.memory
    keep(Self.loopback(1), in: memory)
    try await TransportOnLoop.run(configuration, host: Self.host) { on in
      // An app that was asked is not asked again about the server over TCP.
      let waiter = load(on, port: server.port, Judge(trusts: false, mayBeAsked: true))
      await #expect(throws: TransportError.self) { _ = try await waiter.exchange() }
    }
    #expect(memory.answer(to: Self.question, at: .now()) == nil)
    await server.shutdown()
  }

  /// The load is given up whose app judges the server: the next one has a connection of its own, and asks anew.
  @Test(.enabled(if: HTTP3Front.runsHere)) func aLoadThatIsGivenUpTakesItsQuestionAlong() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.http3.tls()) { _ in .ok("here") }
    var configuration = try configuration { $0.family == .v4 ? .success([Self.loopback(1)]) : Self.absent }
    // Nothing listens there over TCP.
    configuration.http3HeadStart = .seconds(60)
    try await TransportOnLoop.run(configuration, host: Self.host) { on in
      let app = Undecided()
      let first = load(on, port: server.port, app)
      let exchange = Task(executorPreference: on.executor) { _ = try await first.exchange() }
      let verdict = try await app.verdicts.next()
      defer { verdict.succeed() }
      first.abort(Enough())
      await #expect(throws: Enough.self) { try await exchange.value }
      let key = ConnectionKey(scheme: .https, host: Self.host, port: server.port)
      let (status, _) = try await on.load(on: try await load(on, port: server.port).exchange(), key)
      #expect(status == 200)
      let place = QUICEndpoint(host: Self.host, port: server.port)
      #expect(on.transport.pool(for: key, near: on.executor).outages.permits(place, at: .now()))
    }
    await server.shutdown()
  }

  /// Nothing listens at the port over QUIC. The network changes while the name is looked up, or it does not.
  @Test(arguments: [true, false]) func aPlaceIsJudgedByItsNetworkAlone(_ changes: Bool) async throws {
    let server = try await LoopbackServer.start(tls: ServerTLS(try TestCertificates.shared().wildcard)) { _ in
      .ok("here")
    }
    let mayAnswer = DispatchSemaphore(value: 0)
    var configuration = try configuration { question in
      mayAnswer.wait()
      mayAnswer.signal()
      return question.family == .v4 ? .success([Self.loopback(1)]) : Self.absent
    }
    configuration.http3HeadStart = .seconds(60)
    let networks = FakeNetworks()
    configuration.networks = networks
    try await TransportOnLoop.run(configuration, host: Self.host) { on in
      let key = ConnectionKey(scheme: .https, host: Self.host, port: server.port)
      let pool = on.transport.pool(for: key, near: on.executor)
      let waiter = load(on, port: server.port)
      async let exchange = waiter.exchange()
      _ = try await named.first(2)
      if changes {
        let before = pool.network
        networks.become(.expensive)
        try await eventually("the pool to hear of the change") { pool.network != before }
      }
      mayAnswer.signal()
      let (status, _) = try await on.load(on: try await exchange, key)
      #expect(status == 200)
      let place = QUICEndpoint(host: Self.host, port: server.port)
      #expect(pool.outages.permits(place, at: .now()) == changes)
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
