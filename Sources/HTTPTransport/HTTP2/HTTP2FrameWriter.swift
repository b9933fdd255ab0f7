import NIOCore

/// Writes the frames that a client sends (RFC 9113 §6).
package enum HTTP2FrameWriter {
  /// RFC 9113 §3.4.
  package static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

  package static func settings(_ settings: [HTTP2Setting], into buffer: inout ByteBuffer) {
    HTTP2FrameHeader(length: settings.count * 6, type: HTTP2FrameType.settings, stream: 0).write(into: &buffer)
    for setting in settings {
      buffer.writeInteger(setting.identifier)
      buffer.writeInteger(setting.value)
    }
  }

  package static func settingsAcknowledgement(into buffer: inout ByteBuffer) {
    HTTP2FrameHeader(length: 0, type: HTTP2FrameType.settings, flags: HTTP2FrameFlag.acknowledgement, stream: 0)
      .write(into: &buffer)
  }

  package static func ping(_ data: UInt64, isAcknowledgement: Bool, into buffer: inout ByteBuffer) {
    HTTP2FrameHeader(
      length: 8, type: HTTP2FrameType.ping, flags: isAcknowledgement ? HTTP2FrameFlag.acknowledgement : 0, stream: 0
    ).write(into: &buffer)
    buffer.writeInteger(data)
  }

  package static func windowUpdate(_ stream: HTTP2StreamNumber, by increment: Int, into buffer: inout ByteBuffer) {
    HTTP2FrameHeader(length: 4, type: HTTP2FrameType.windowUpdate, stream: stream).write(into: &buffer)
    buffer.writeInteger(UInt32(clamping: increment) & 0x7fff_ffff)
  }

  /// RFC 9218 §7.1: on the connection, of a stream.
  package static func priorityUpdate(_ stream: HTTP2StreamNumber, _ value: String, into buffer: inout ByteBuffer) {
    HTTP2FrameHeader(length: 4 + value.utf8.count, type: HTTP2FrameType.priorityUpdate, stream: 0).write(into: &buffer)
    buffer.writeInteger(stream)
    buffer.writeString(value)
  }

  package static func reset(_ stream: HTTP2StreamNumber, _ code: HTTP2ErrorCode, into buffer: inout ByteBuffer) {
    HTTP2FrameHeader(length: 4, type: HTTP2FrameType.reset, stream: stream).write(into: &buffer)
    buffer.writeInteger(code.rawValue)
  }

  /// A client takes no streams of the server's: the last one processed is always 0.
  package static func goAway(_ code: HTTP2ErrorCode, into buffer: inout ByteBuffer) {
    HTTP2FrameHeader(length: 8, type: HTTP2FrameType.goAway, stream: 0).write(into: &buffer)
    buffer.writeInteger(UInt32(0))
    buffer.writeInteger(code.rawValue)
  }

  /// A header block as HEADERS, and CONTINUATION where it does not fit into one frame. Returns the bytes written.
  @discardableResult
  package static func headers(
    _ stream: HTTP2StreamNumber, block: ByteBuffer, endsStream: Bool, frameBytes: Int, into buffer: inout ByteBuffer
  ) -> Int {
    let before = buffer.readableBytes
    var rest = block
    var type = HTTP2FrameType.headers
    repeat {
      guard let piece = rest.readSlice(length: min(rest.readableBytes, max(1, frameBytes))) else { break }
      var flags: UInt8 = rest.readableBytes == 0 ? HTTP2FrameFlag.endHeaders : 0
      if type == HTTP2FrameType.headers, endsStream { flags |= HTTP2FrameFlag.endStream }
      HTTP2FrameHeader(length: piece.readableBytes, type: type, flags: flags, stream: stream).write(into: &buffer)
      buffer.writeImmutableBuffer(piece)
      type = HTTP2FrameType.continuation
    } while rest.readableBytes > 0
    return buffer.readableBytes - before
  }

  package static func data(
    _ stream: HTTP2StreamNumber, _ bytes: ByteBuffer, endsStream: Bool, into buffer: inout ByteBuffer
  ) {
    HTTP2FrameHeader(
      length: bytes.readableBytes, type: HTTP2FrameType.data, flags: endsStream ? HTTP2FrameFlag.endStream : 0,
      stream: stream
    ).write(into: &buffer)
    buffer.writeImmutableBuffer(bytes)
  }
}
