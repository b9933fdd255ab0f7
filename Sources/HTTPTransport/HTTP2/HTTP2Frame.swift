import NIOCore

/// Streams are numbered by the client: odd numbers, rising. 0 is the connection itself (RFC 9113 §5.1.1).
package typealias HTTP2StreamNumber = UInt32

/// A frame that arrived, with padding and continuations already resolved.
package enum HTTP2Frame: Equatable {
  /// `flowControlled` counts the padding too (RFC 9113 §6.9.1).
  case data(HTTP2StreamNumber, bytes: ByteBuffer, flowControlled: Int, endsStream: Bool)
  /// A whole header block; `wireSize` counts the frames that carried it, their headers included.
  case headers(HTTP2StreamNumber, block: ByteBuffer, wireSize: Int, endsStream: Bool)
  case reset(HTTP2StreamNumber, HTTP2ErrorCode)
  case settings([HTTP2Setting])
  case settingsAcknowledged
  case ping(UInt64)
  case pingAcknowledged(UInt64)
  case goAway(lastStream: HTTP2StreamNumber, HTTP2ErrorCode, debug: String)
  case windowUpdate(HTTP2StreamNumber, increment: Int)
  /// The origins for which the connection may be used (RFC 8336 §2).
  case origins([String])
  /// PRIORITY, and types that are not known: ignored, but counted (RFC 9113 §4.1).
  case ignored

  /// Whether it is part of a request or a response, so that its meaning depends on whether the stream is open.
  var isOfMessage: Bool {
    switch self {
    case .data, .headers: true
    default: false
    }
  }
}
