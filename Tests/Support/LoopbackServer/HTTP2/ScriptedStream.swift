import NIOCore
import NIOHPACK
import NIOHTTP2

/// One stream of an HTTP/2 connection whose reply is a script of its own: for what is no request and response, such as
/// a WebSocket (RFC 8441). When the script returns, the server's side of the stream ends.
package final class ScriptedStream: Sendable {
  package let head: RequestHead
  private let stream: ServerStream
  private let rest = Monitor(ByteBuffer())

  init(head: RequestHead, stream: ServerStream) {
    self.head = head
    self.stream = stream
  }

  /// Sends a head with exactly these fields; names are made lower case.
  package func respond(_ status: Int, fields: HeaderList = [], endsStream: Bool = false) async throws {
    var list = HPACKHeaders([(":status", String(status))])
    for (name, value) in fields { list.add(name: name.lowercased(), value: value) }
    try await stream.write(.headers(.init(headers: list, endStream: endsStream)))
  }

  /// The next bytes from the client; nil when it has ended or reset the stream.
  package func read() async throws -> ByteBuffer? {
    let bytes = rest.update { rest -> ByteBuffer in
      defer { rest = ByteBuffer() }
      return rest
    }
    return bytes.readableBytes > 0 ? bytes : try await stream.read()
  }

  /// Exactly `count` bytes; nil when the client ended the stream before it had sent so many.
  package func read(exactly count: Int) async throws -> [UInt8]? {
    var collected = ByteBuffer()
    while collected.readableBytes < count {
      guard var more = try await read() else { return nil }
      collected.writeBuffer(&more)
    }
    let bytes = collected.readBytes(length: count)
    rest.update { [collected] in $0 = collected }
    return bytes
  }

  /// Sends bytes; a client that does not read slows the script.
  package func write(_ bytes: [UInt8]) async throws {
    try await stream.write(.data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)))))
  }

  /// Ends the stream as a TCP connection ends with a reset (RFC 8441 §5).
  package func reset() async throws { try await stream.write(.rstStream(.cancel)) }

  /// Ends the server's side, then throws away what the client still sends until that ends too.
  func finish() async throws {
    try await stream.write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
    try await within(patience, "the client to end the stream") {
      while try await self.read() != nil {}
    }
  }
}
