import Dispatch
import HTTPSemantics
import LoopbackServer
import NIOCore
import NIOPosix
import SystemServices
import Testing

@testable import HTTPTransport

/// The first load of a host whose HTTPS record offers HTTP/3: against a server that answers over TCP, and a socket beside it
/// that hears whether QUIC is tried.
@Suite(.enabled(if: TransportConfiguration.isBuiltWithHTTP3))
struct ServiceRecordRaceTests {
  private static let threads = BlockingLanes(limit: 16)
  private static let host = "one.loopback.example"

  private final class Trusting: HandshakeClient {
    let mayBeAsked = false
    let limits = HandshakeLimits()
    func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>) { verdict.succeed() }
    func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>) {
      choice.succeed(nil)
    }
  }

  private final class Listener: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    let datagrams: Recorder<Int>
    init(_ datagrams: Recorder<Int>) { self.datagrams = datagrams }
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      datagrams.record(unwrapInboundIn(data).data.readableBytes)
    }
  }

  private let asked = Recorder<String>()
  private let named = Recorder<NameQuestion>()
  private let datagrams = Recorder<Int>()

  /// - Parameter port: for HTTP/3.
  private func record(_ port: Int) -> [ServiceRecord] {
    let host = Self.host.split(separator: ".").reduce(into: [UInt8]()) {
      $0.append(UInt8($1.utf8.count))
      $0.append(contentsOf: $1.utf8)
    }
    // The best target, the name of the host; the protocols; the port.
    var data: [UInt8] = [0, 1] + host + [0]
    data += [0, 1, 0, 3, 2, 0x68, 0x33]
    data += [0, 3, 0, 2, UInt8(port >> 8), UInt8(port & 0xff)]
    // The owner, type and class, five minutes, the length.
    var bytes: [UInt8] = host + [0]
    bytes += [0, 65, 0, 1, 0, 0, 1, 0x2c, 0, UInt8(data.count)]
    bytes += data
    return [ServiceRecord(bytes)].compactMap { $0 }
  }

  private func configuration(
    names: @escaping NameLookups.Ask, records: @escaping ServiceRecords.Ask
  ) throws -> TransportConfiguration {
    var configuration = try TransportOnLoop.trusting()
    configuration.names = NameLookups(on: Self.threads) { [named] in
      named.record($0)
      return names($0)
    }
    configuration.serviceRecords = ServiceRecords(on: Self.threads) { [asked] in
      asked.record($0)
      return records($0)
    }
    return configuration
  }

  private func withServer(_ body: (_ port: Int, _ quicPort: Int) async throws -> Void) async throws {
    let server = try await LoopbackServer.start(tls: ServerTLS(try TestCertificates.shared().wildcard)) { _ in
      .ok("here")
    }
    let socket = try await DatagramBootstrap(group: LoopExecutor.all[0].loop)
      .channelInitializer { [datagrams] in $0.pipeline.addHandler(Listener(datagrams)) }
      .bind(host: "127.0.0.1", port: 0).get()
    try await body(server.port, try #require(socket.localAddress?.port))
    try await socket.close()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private func address(_ question: NameQuestion) -> NameAnswer {
    question.family == .v4
      ? .success([NetworkAddress([127, 0, 0, 1])]) : .failure(NameFailure(reason: "no such name", isAbsence: true))
  }

  /// The addresses come when the record has been there: the server over TCP answers the load, QUIC is tried beside it.
  @Test func aRecordThatComesInTimeBeginsARace() async throws {
    try await withServer { port, quicPort in
      let isRecordThere = DispatchSemaphore(value: 0)
      let configuration = try configuration {
        isRecordThere.wait()
        isRecordThere.signal()
        return address($0)
      } records: { _ in
        record(quicPort)
      }
      try await TransportOnLoop.run(configuration, host: Self.host) { on in
        let key = ConnectionKey(scheme: .https, host: Self.host, port: port)
        let waiter = on.transport.lease(for: key, priority: 0.5, caller: on.executor, handshake: Trusting())
        async let exchange = waiter.exchange()
        try await eventually("the record to be noted") { on.transport.alternatives.http3Endpoint(for: key) != nil }
        // Both connections look the name up.
        try await eventually("QUIC to be begun") { on.transport.configuration.names.waiterCount >= 4 }
        isRecordThere.signal()
        let (status, body) = try await on.load(on: try await exchange, key)
        #expect(status == 200 && body == "here")
        // The first datagram of a handshake is padded (RFC 9000 §8.1).
        let length = try await datagrams.next()
        #expect(length >= 1_200)
      }
      #expect(asked.all == ["_\(port)._https.\(Self.host)"])
    }
  }

  /// The load is served without it, and the next connection knows.
  @Test func aRecordThatComesLateIsForLater() async throws {
    try await withServer { port, quicPort in
      let isServed = DispatchSemaphore(value: 0)
      let configuration = try configuration {
        address($0)
      } records: { _ in
        isServed.wait()
        return record(quicPort)
      }
      try await TransportOnLoop.run(configuration, host: Self.host) { on in
        let key = ConnectionKey(scheme: .https, host: Self.host, port: port)
        let waiter = on.transport.lease(for: key, priority: 0.5, caller: on.executor, handshake: Trusting())
        let (status, _) = try await on.load(on: try await waiter.exchange(), key)
        #expect(status == 200)
        isServed.signal()
        try await eventually("the record to be noted") { on.transport.alternatives.http3Endpoint(for: key) != nil }
        #expect(datagrams.count == 0)
      }
      #expect(asked.count == 1)
    }
  }

  /// Nothing listens at the port of the offer: the load is served over TCP, and later ones wait for no head start.
  @Test func anOfferThatLeadsNowhereIsWithdrawn() async throws {
    try await withServer { port, _ in
      var configuration = try configuration(names: address, records: { _ in [] })
      configuration.http3HeadStart = .seconds(60)
      try await TransportOnLoop.run(configuration, host: Self.host) { on in
        let key = ConnectionKey(scheme: .https, host: Self.host, port: port)
        let alternatives = on.transport.alternatives
        let question = try #require(alternatives.askForOffer(of: key))
        alternatives.note(HTTP3Offer(port: port, lifetime: 300), of: key, answering: question)
        let waiter = on.transport.lease(for: key, priority: 0.5, caller: on.executor, handshake: Trusting())
        let (status, _) = try await on.load(on: try await waiter.exchange(), key)
        #expect(status == 200 && alternatives.http3Endpoint(for: key) == nil)
      }
    }
  }

  /// The server has moved since the last lookup: that says nothing of HTTP/3.
  @Test func nameServersAreAskedWhereAddressesThatWereKeptDoNotSpeakQUIC() async throws {
    struct Enough: Error {}
    try await withServer { port, quicPort in
      var configuration = try configuration(names: address, records: { _ in [] })
      // TCP is not tried meanwhile, which would ask them too.
      configuration.http3HeadStart = .seconds(60)
      let memory = configuration.names.memory
      memory.note(
        .success([NetworkAddress([127, 0, 0, 2])]),
        to: NameQuestion(host: Self.host, family: .v4, onlyUsableFamilies: true), askedIn: memory.circumstances(),
        at: .now())
      try await TransportOnLoop.run(configuration, host: Self.host) { on in
        let key = ConnectionKey(scheme: .https, host: Self.host, port: port)
        let alternatives = on.transport.alternatives
        let question = try #require(alternatives.askForOffer(of: key))
        alternatives.note(HTTP3Offer(port: quicPort, lifetime: 300), of: key, answering: question)
        let waiter = on.transport.lease(for: key, priority: 0.5, caller: on.executor, handshake: Trusting())
        let exchange = Task(executorPreference: on.executor) { _ = try await waiter.exchange() }
        let length = try await datagrams.next()
        #expect(length >= 1_200 && alternatives.http3Endpoint(for: key) != nil)
        waiter.abort(Enough())
        await #expect(throws: Enough.self) { try await exchange.value }
      }
      #expect(named.all.contains { $0.family == .v4 })
    }
  }
}
