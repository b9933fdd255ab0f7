#if HTTP3
import CQUIC
import Foundation
import HTTPSemantics
import LoopbackServer
import NIOCore
import RealServers
import Testing

@testable import HTTPTransport

/// What a ticket tells the next connection to its server, beside the session of TLS: how long a round trip takes.
@Suite(.fewAtATime, .enabled(if: HTTP3Support.runsHere && PythonHTTP3.server.runsHere, "\(HTTP3Support.advice)"))
struct HTTP3TicketTests {
  private final class Trusting: HandshakeClient {
    let mayBeAsked = false
    let limits = HandshakeLimits()
    func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>) { verdict.succeed() }
    func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>) {
      choice.succeed(nil)
    }
  }

  /// The ticket of a server at the end of a slow link.
  private func ticket() async throws -> QUICTicket {
    let identity = try TestCertificates.shared().localhost
    let server = try await PythonHTTP3.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile))
    var options = DatagramRelay.Options()
    options.course = DatagramCourse(seed: 1)
    options.course.milliseconds = 40
    let relay = try await DatagramRelay.start(to: server.port, options: options)
    var configuration = TransportConfiguration()
    configuration.http3HeadStart = .seconds(60)
    let transport = HTTPTransport(configuration: configuration)
    let executor = transport.executor(forHost: "127.0.0.1")
    var key = ConnectionKey(scheme: .https, host: "127.0.0.1", port: relay.port)
    key.quic = QUICEndpoint(host: key.host, port: key.port)
    let quicKey = key
    let ticket = try await withTaskExecutorPreference(executor) {
      var key = quicKey
      key.quic = nil
      let waiter = transport.lease(
        for: key, priority: 0.5, caller: executor, handshake: Trusting(), assumesHTTP3: true)
      let exchange = try await waiter.exchange()
      defer { exchange.end() }
      let head = HTTPRequestHead(
        method: "GET", target: "/hello", authority: "127.0.0.1:\(key.port)", scheme: "https")
      try exchange.send(head: head, body: .none)
      let status = try await exchange.nextHead().status
      #expect(status == 200)
      var found: QUICTicket?
      try await eventually("a ticket to be kept") {
        found = found ?? transport.tls.tickets.take(for: quicKey)
        return found != nil
      }
      return try #require(found)
    }
    transport.shutDown()
    await relay.close()
    await server.stop()
    return ticket
  }

  /// How long a connection waits for the first answer before it repeats what it has sent.
  private func firstPatience(_ ticket: QUICTicket?) throws -> UInt64 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(443).bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    let start: UInt64 = 1_000_000_000
    var events = cquic_events()
    events.streams_changed = { _ in }
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let made = "127.0.0.1".withCString { host in
      withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          var options = cquic_options()
          options.host = host
          options.local = address
          options.local_length = length
          options.remote = address
          options.remote_length = length
          options.stream_window = 1 << 16
          options.largest_stream_window = 1 << 16
          options.connection_window = 1 << 16
          options.largest_field_section = 1 << 16
          options.idle_timeout = 60_000_000_000
          options.handshake_timeout = 60_000_000_000
          options.now = start
          options.ticket = ticket?.handle
          return cquic_connection_new(&options, &events, nil)
        }
      }
    }
    let machine = try #require(made)
    defer { cquic_connection_free(machine) }
    var datagram = [UInt8](repeating: 0, count: cquic_largest_datagram())
    var mark: UInt32 = 0
    #expect(cquic_send(machine, &datagram, datagram.count, &mark, start) > 0)
    return cquic_expiry(machine) - start
  }

  /// RFC 9002 §6.2.2: three round trips of 333 ms where nothing is known, otherwise of what was measured, within bounds.
  @Test func theNextConnectionBeginsWithTheRoundTripOfTheLast() async throws {
    let ticket = try await ticket()
    let measured = cquic_ticket_round_trip(ticket.handle)
    #expect(measured >= 40_000_000)
    let known = min(max(measured, 25_000_000), 1_000_000_000)
    // The variation is taken for half of it, in whole nanoseconds.
    #expect(try firstPatience(ticket) == known + 4 * (known / 2))
    #expect(try firstPatience(nil) == 999_000_000)
  }
}
#endif
