import HTTPSemantics
import NIOCore

/// Makes frames out of what a client sends (RFC 6455 §5, RFC 7692 §7.2.1).
package struct WebSocketWriter {
  private let deflater: MessageDeflater?

  /// A longer message is sent in fragments, so that a pong or a close frame does not wait for all of it.
  package static let longestFragment = 128 * 1024
  /// Compressing less than this saves nothing.
  private static let shortestCompressed = 32

  package init(compression: MessageCompression?) { deflater = compression.flatMap { MessageDeflater($0) } }

  /// A message on its way out: `next` writes one frame after the other.
  package struct Message {
    let opcode: WebSocketFrame.Opcode
    let isCompressed: Bool
    var rest: ByteBuffer
    var hasBegun = false

    /// Writes the next frame. Returns whether it was the last.
    package mutating func next(into out: inout ByteBuffer) -> Bool {
      let count = min(rest.readableBytes, WebSocketWriter.longestFragment)
      let payload = rest.readSlice(length: count) ?? ByteBuffer()
      let isLast = rest.readableBytes == 0
      WebSocketFrame.write(
        hasBegun ? .continuation : opcode, isFinal: isLast, isCompressed: isCompressed && !hasBegun,
        payload: payload.readableBytesView, into: &out)
      hasBegun = true
      return isLast
    }
  }

  /// Compresses a message where that was agreed on. Messages must be sent in the order of these calls.
  package func message(isText: Bool, _ payload: ByteBuffer) -> Message {
    let opcode: WebSocketFrame.Opcode = isText ? .text : .binary
    if let deflater, payload.readableBytes >= WebSocketWriter.shortestCompressed,
      let compressed = deflater.deflate(payload.readableBytesView)
    {
      return Message(opcode: opcode, isCompressed: true, rest: compressed)
    }
    return Message(opcode: opcode, isCompressed: false, rest: payload)
  }

  package static func ping(_ payload: ByteBuffer, into out: inout ByteBuffer) {
    WebSocketFrame.write(.ping, payload: payload.readableBytesView, into: &out)
  }

  package static func pong(_ payload: ByteBuffer, into out: inout ByteBuffer) {
    WebSocketFrame.write(.pong, payload: payload.readableBytesView, into: &out)
  }

  package static func close(_ status: WebSocketCloseStatus, into out: inout ByteBuffer) {
    WebSocketFrame.write(.close, payload: ByteBuffer(bytes: status.payload).readableBytesView, into: &out)
  }
}
