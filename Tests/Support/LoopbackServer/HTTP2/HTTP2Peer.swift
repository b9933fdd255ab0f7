import NIOCore
import NIOHPACK

/// A server of HTTP/2 of which a test scripts every frame, right or wrong. Reads and writes on a raw connection whose
/// TLS has agreed on `h2`.
package final class HTTP2Peer {
  package struct Frame: Sendable {
    package var type: UInt8
    package var flags: UInt8
    package var stream: UInt32
    package var payload: [UInt8]

    package init(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
      self.type = type
      self.flags = flags
      self.stream = stream
      self.payload = payload
    }
  }

  package let connection: ServerConnection
  private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())

  package init(_ connection: ServerConnection) { self.connection = connection }

  /// Starts a server that offers `h2` and runs `script` on each connection.
  package static func start(
    options: LoopbackServer.Options = .init(), script: @escaping @Sendable (HTTP2Peer) async throws -> Void
  ) async throws -> LoopbackServer {
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = ["h2"]
    return try await LoopbackServer.startRaw(tls: tls, options: options) { try await script(HTTP2Peer($0)) }
  }

  /// Reads the client's preface and sends SETTINGS; the client's own follow as a frame.
  package func greet(_ settings: [(UInt16, UInt32)] = []) async throws {
    _ = try await connection.read(exactly: 24)
    var payload = ByteBuffer()
    for (identifier, value) in settings { payload.writeMultipleIntegers(identifier, value) }
    try await write(Frame(type: 4, payload: Array(payload.readableBytesView)))
  }

  /// The next frame; nil when the client has closed.
  package func read() async throws -> Frame? {
    guard let header = try await connection.read(exactly: 9) else { return nil }
    let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
    let stream = UInt32(header[5]) << 24 | UInt32(header[6]) << 16 | UInt32(header[7]) << 8 | UInt32(header[8])
    let payload = length == 0 ? [] : try await connection.read(exactly: length)
    guard let payload else { return nil }
    return Frame(type: header[3], flags: header[4], stream: stream, payload: payload)
  }

  /// The next frame of a type; others are passed over.
  package func read(type: UInt8) async throws -> Frame? {
    while let frame = try await read() { if frame.type == type { return frame } }
    return nil
  }

  /// The next request's stream and fields; nil when the client has closed.
  package func request() async throws -> (stream: UInt32, fields: [String: String])? {
    guard let frame = try await read(type: 1) else { return nil }
    return (frame.stream, try fields(frame))
  }

  /// The fields of a HEADERS frame. Called once for each, in their order.
  package func fields(_ headers: Frame) throws -> [String: String] {
    var block = ByteBuffer(bytes: headers.payload)
    let list = try decoder.decodeHeaders(from: &block)
    return Dictionary(list.map { ($0.name, $0.value) }) { $0 + "," + $1 }
  }

  package func write(_ frame: Frame) async throws { try await write([frame]) }

  package func write(_ frames: [Frame]) async throws {
    var bytes = ByteBuffer()
    for frame in frames {
      bytes.writeInteger(UInt32(frame.payload.count) << 8 | UInt32(frame.type))
      bytes.writeInteger(frame.flags)
      bytes.writeInteger(frame.stream)
      bytes.writeBytes(frame.payload)
    }
    try await connection.write(bytes)
  }

  /// HEADERS with these fields, not compressed.
  package static func headers(
    _ stream: UInt32, _ fields: [(String, String)], endsStream: Bool = false, endsHeaders: Bool = true
  ) -> Frame {
    Frame(
      type: 1, flags: (endsStream ? 1 : 0) | (endsHeaders ? 4 : 0), stream: stream, payload: block(fields))
  }

  /// Fields as literals without indexing (RFC 7541 §6.2.2).
  package static func block(_ fields: [(String, String)]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (name, value) in fields {
      bytes.append(0)
      for text in [name, value] {
        bytes += length(text.utf8.count)
        bytes += Array(text.utf8)
      }
    }
    return bytes
  }

  /// RFC 7541 §5.1, with a prefix of seven bits.
  private static func length(_ count: Int) -> [UInt8] {
    guard count >= 127 else { return [UInt8(count)] }
    var bytes: [UInt8] = [127]
    var rest = count - 127
    while rest >= 128 {
      bytes.append(UInt8(rest % 128 + 128))
      rest /= 128
    }
    return bytes + [UInt8(rest)]
  }

  package static func data(_ stream: UInt32, _ text: String, endsStream: Bool = false) -> Frame {
    data(stream, Array(text.utf8), endsStream: endsStream)
  }

  package static func data(_ stream: UInt32, _ bytes: [UInt8], endsStream: Bool = false) -> Frame {
    Frame(type: 0, flags: endsStream ? 1 : 0, stream: stream, payload: bytes)
  }

  package static func reset(_ stream: UInt32, _ code: UInt32) -> Frame {
    Frame(type: 3, stream: stream, payload: bigEndian(code))
  }

  package static func goAway(last: UInt32, _ code: UInt32) -> Frame {
    Frame(type: 7, payload: bigEndian(last) + bigEndian(code))
  }

  /// RFC 8336 §2.1.
  package static func origins(_ origins: [String]) -> Frame {
    let entries = origins.map { Array($0.utf8) }
    return Frame(type: 0xc, payload: entries.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xff)] + $0 })
  }

  package static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> Frame {
    Frame(type: 8, stream: stream, payload: bigEndian(increment))
  }

  package static func bigEndian(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 0xff), UInt8(value >> 8 & 0xff), UInt8(value & 0xff)]
  }

  /// Answers a request with 200 and a text.
  package func answer(_ stream: UInt32, _ text: String) async throws {
    try await write([HTTP2Peer.headers(stream, [(":status", "200")]), HTTP2Peer.data(stream, text, endsStream: true)])
  }
}
