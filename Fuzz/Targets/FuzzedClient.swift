#if HTTP3
import CQUIC
import Glibc

/// A client's QUIC connection to which things happen as bytes say.
final class FuzzedClient {
  private var machine: OpaquePointer?
  private var now: UInt64 = 1_000_000_000
  private var space = [UInt8](repeating: 0, count: cquic_largest_datagram())
  /// The connection IDs of an answer, each behind its length; empty before the first datagram.
  private var answered: [UInt8] = []
  private var streams: [OpaquePointer] = []
  private var made = 0
  private var closed = 0

  private static let mostStreams = 8
  private static let mostDatagrams = 64

  init?() {
    var options = cquic_options()
    var local = address(port: 50_000)
    var remote = address(port: 443)
    options.stream_window = 1 << 16
    options.largest_stream_window = 1 << 18
    options.connection_window = 1 << 20
    options.largest_field_section = 1 << 14
    options.idle_timeout = 30_000_000_000
    options.handshake_timeout = 10_000_000_000
    options.now = now
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var events = FuzzedClient.events
    let user = Unmanaged.passUnretained(self).toOpaque()
    machine = "example.org".withCString { host in
      withUnsafePointer(to: &local) { local in
        withUnsafePointer(to: &remote) { remote in
          options.host = host
          options.is_name = 1
          options.local = UnsafeRawPointer(local).assumingMemoryBound(to: sockaddr.self)
          options.local_length = size
          options.remote = UnsafeRawPointer(remote).assumingMemoryBound(to: sockaddr.self)
          options.remote_length = size
          return cquic_connection_new(&options, &events, user)
        }
      }
    }
    if machine == nil { return nil }
  }

  deinit { if let machine { cquic_connection_free(machine) } }

  func run(_ bytes: ArraySlice<UInt8>) throws {
    var rest = bytes
    try send()
    while let action = rest.popFirst(), let machine {
      let length = Int(rest.popFirst() ?? 0) * 8
      switch action & 7 {
      case 0, 1: receive(Array(rest.prefix(length)))
      case 2, 3:
        // An answer with a long header to the connection's own IDs: a version, and what the bytes say.
        let version: [UInt8] = action & 8 == 0 ? [0, 0, 0, 1] : [0, 0, 0, 0]
        receive([0x80 | action] + version + answered + rest.prefix(length))
      case 4:
        now += UInt64(length) * 10_000_000
        if cquic_expiry(machine) <= now { _ = cquic_expired(machine, now) }
      case 5: request(machine, hasBody: action & 8 != 0)
      case 6:
        guard let stream = streams.last else { break }
        let body = Array(rest.prefix(length))
        _ = cquic_write(machine, stream, body, body.count)
        if action & 8 != 0 { _ = cquic_finish(machine, stream, nil, 0) }
      default:
        guard let stream = streams.popLast() else { break }
        cquic_cancel(machine, stream, 0x10c)
      }
      if action & 7 != 4, action & 7 != 5 { rest = rest.dropFirst(length) }
      try send()
    }
    try require(closed <= made, "\(closed) streams of \(made) were closed")
    guard let machine else { return }
    let count = cquic_close(machine, &space, space.count, 0x100, now)
    try require(count <= space.count, "the last datagram has \(count) bytes")
  }

  private func receive(_ datagram: [UInt8]) {
    guard let machine else { return }
    now += 1_000_000
    let isAlive = cquic_receive(machine, datagram, datagram.count, 0, now) != 0
    if !isAlive { end() }
  }

  private func request(_ machine: OpaquePointer, hasBody: Bool) {
    guard streams.count < FuzzedClient.mostStreams else { return }
    let names: [StaticString] = [":method", ":scheme", ":authority", ":path"]
    let values: [StaticString] = ["GET", "https", "example.org", "/"]
    let fields = zip(names, values).map { name, value in
      cquic_field(
        name: name.utf8Start, name_length: name.utf8CodeUnitCount, value: value.utf8Start,
        value_length: value.utf8CodeUnitCount, is_secret: 0)
    }
    let user = Unmanaged.passUnretained(self).toOpaque()
    if let stream = cquic_request(machine, fields, fields.count, hasBody ? 1 : 0, 1, user) {
      made += 1
      streams.append(stream)
    }
  }

  /// Takes all datagrams that are ready.
  private func send() throws {
    for _ in 0..<FuzzedClient.mostDatagrams {
      guard let machine else { return }
      var ecn: UInt32 = 0
      let count = cquic_send(machine, &space, space.count, &ecn, now)
      try require(count <= space.count, "a datagram of \(count) bytes")
      guard count > 0 else { return count < 0 ? end() : () }
      if answered.isEmpty { learn(space[..<count]) }
    }
  }

  /// The ends of the connection, as its first datagram names them (RFC 9000 §17.2).
  private func learn(_ datagram: ArraySlice<UInt8>) {
    var rest = datagram.dropFirst(5)
    guard let length = rest.first else { return }
    let destination = rest.prefix(1 + Int(length))
    rest = rest.dropFirst(destination.count)
    guard let other = rest.first else { return }
    answered = Array(rest.prefix(1 + Int(other))) + Array(destination)
  }

  /// It can't go on: it is freed, with its streams.
  private func end() {
    guard let machine else { return }
    precondition(cquic_failure_of(machine).kind != CQUIC_NOTHING)
    streams = []
    _ = cquic_close(machine, &space, space.count, 0x100, now)
    cquic_connection_free(machine)
    self.machine = nil
  }

  private static let events: cquic_events = {
    var events = cquic_events()
    events.lacks_bytes = { _, _ in 0 }
    events.handshake_completed = { _ in }
    events.streams_changed = { _ in }
    events.going_away = { _, _ in }
    events.ticket = { _, ticket in cquic_ticket_free(ticket) }
    events.server_stream = { _, _, _, _ in 1 }
    events.field = { _, _, _, _, _, _, _ in }
    events.fields_ended = { _, _, _, _ in }
    events.data = { _, _, _, _ in }
    events.ended = { _, _ in }
    events.reset = { _, _, _ in }
    events.sending_stopped = { _, _ in }
    events.acknowledged = { _, _, _ in }
    events.closed = { _, stream, _ in
      guard let stream else { return }
      Unmanaged<FuzzedClient>.fromOpaque(stream).takeUnretainedValue().closed += 1
    }
    return events
  }()
}

private func address(port: UInt16) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
  return address
}
#endif
