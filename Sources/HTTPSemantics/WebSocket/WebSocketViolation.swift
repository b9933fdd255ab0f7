/// An act of a WebSocket peer that RFC 6455 or RFC 7692 forbids, or that is beyond the receiver's limits.
///
/// Each ends the connection: with a close frame of `closeCode`, and with `sentence` for people.
package enum WebSocketViolation: Error, Sendable, Equatable {
  // RFC 6455 §5: frames.
  case maskedFrame
  case reservedBits
  case unknownOpcode(UInt8)
  case lengthNotMinimal
  case lengthOutOfRange
  case fragmentedControlFrame
  case controlFrameTooLong
  case continuationOfNothing
  case messageInsideMessage
  // §5.5.1 and §7.4: the close frame.
  case closePayloadTooShort
  case invalidCloseCode(UInt16)
  // §8.1 and RFC 7692 §7.
  case invalidUTF8
  case invalidCompression
  /// More bytes in one message than the receiver takes.
  case messageTooBig(limit: Int)

  /// RFC 6455 §7.4.1.
  package var closeCode: UInt16 {
    switch self {
    case .invalidUTF8: 1007
    case .invalidCompression: 1007
    case .messageTooBig: 1009
    default: 1002
    }
  }

  package var sentence: String {
    switch self {
    case .maskedFrame: "the server masked a frame"
    case .reservedBits: "a frame has reserved bits that no extension gave a meaning"
    case .unknownOpcode(let opcode): "a frame has the unknown opcode \(opcode)"
    case .lengthNotMinimal: "a frame's length takes more bytes than it needs"
    case .lengthOutOfRange: "a frame's length has its highest bit set"
    case .fragmentedControlFrame: "a control frame is fragmented"
    case .controlFrameTooLong: "a control frame has more than 125 bytes"
    case .continuationOfNothing: "a frame continues a message that had not begun"
    case .messageInsideMessage: "a message begins inside another one"
    case .closePayloadTooShort: "a close frame has half a code"
    case .invalidCloseCode(let code): "a close frame has the code \(code), which may not be sent"
    case .invalidUTF8: "a text is not UTF-8"
    case .invalidCompression: "a compressed message can't be decompressed"
    case .messageTooBig(let limit): "a message has more than \(limit) bytes"
    }
  }
}
