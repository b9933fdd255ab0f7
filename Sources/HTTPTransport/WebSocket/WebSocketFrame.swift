import HTTPSemantics
import NIOCore

/// The head of a frame (RFC 6455 §5.2).
package struct WebSocketFrame: Sendable, Equatable {
  package enum Opcode: UInt8, Sendable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue & 0x8 != 0 }
  }

  package var opcode: Opcode
  package var isFinal: Bool
  /// RSV1: the first frame of a message says with it that the message is compressed (RFC 7692 §6).
  package var isCompressed: Bool
  package var length: Int

  package static let longestControlPayload = 125

  /// Takes a frame's head from `bytes`; nil, and nothing is taken, while it is not all there.
  ///
  /// Checks what a frame is allowed by itself, in the order of §5.2. A server's frames are never masked (§5.1).
  package static func parse(
    _ bytes: inout ByteBuffer, allowsCompression: Bool
  ) throws(WebSocketViolation) -> WebSocketFrame? {
    let start = bytes.readerIndex
    guard let first = bytes.getInteger(at: start, as: UInt8.self) else { return nil }
    let isCompressed = first & 0x40 != 0
    guard first & 0x30 == 0, !isCompressed || allowsCompression else { throw .reservedBits }
    guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .unknownOpcode(first & 0x0F) }
    // RFC 7692 §6.1: only the first frame of a message says it, and control frames are never compressed.
    guard !isCompressed || opcode == .text || opcode == .binary else { throw .reservedBits }
    let isFinal = first & 0x80 != 0
    guard isFinal || !opcode.isControl else { throw .fragmentedControlFrame }

    guard let second = bytes.getInteger(at: start + 1, as: UInt8.self) else { return nil }
    guard second & 0x80 == 0 else { throw .maskedFrame }
    let short = Int(second & 0x7F)
    guard !opcode.isControl || short <= longestControlPayload else { throw .controlFrameTooLong }
    guard let (length, size) = try length(short, in: bytes, at: start + 2) else { return nil }
    bytes.moveReaderIndex(forwardBy: 2 + size)
    return WebSocketFrame(opcode: opcode, isFinal: isFinal, isCompressed: isCompressed, length: length)
  }

  /// The length, and how many bytes it took beyond the first. §5.2: the minimal number of bytes must be used.
  private static func length(
    _ short: Int, in bytes: ByteBuffer, at index: Int
  ) throws(WebSocketViolation) -> (length: Int, size: Int)? {
    switch short {
    case 126:
      guard let length = bytes.getInteger(at: index, as: UInt16.self) else { return nil }
      guard length >= 126 else { throw .lengthNotMinimal }
      return (Int(length), 2)
    case 127:
      guard let length = bytes.getInteger(at: index, as: UInt64.self) else { return nil }
      guard length <= UInt64(Int64.max) else { throw .lengthOutOfRange }
      guard length > UInt64(UInt16.max) else { throw .lengthNotMinimal }
      return (Int(length), 8)
    default: return (short, 0)
    }
  }

  /// Writes the frame as a client has to (§5.3): masked with a new key that can't be predicted.
  package static func write(
    _ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, payload: ByteBufferView,
    key: UInt32 = .random(in: .min ... .max), into out: inout ByteBuffer
  ) {
    out.reserveCapacity(minimumWritableBytes: payload.count + 14)
    out.writeInteger(opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0))
    switch payload.count {
    case ...125: out.writeInteger(UInt8(payload.count) | 0x80)
    case ...Int(UInt16.max):
      out.writeInteger(126 | 0x80 as UInt8)
      out.writeInteger(UInt16(payload.count))
    default:
      out.writeInteger(127 | 0x80 as UInt8)
      out.writeInteger(UInt64(payload.count))
    }
    out.writeInteger(key)
    WebSocketMask.append(payload, key: key, to: &out)
  }
}
