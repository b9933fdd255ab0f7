import NIOCore

/// Streams are numbered by the client: odd numbers, rising. 0 is the connection itself (RFC 9113 §5.1.1).
package typealias HTTP2StreamNumber = UInt32

/// The types of frames (RFC 9113 §6).
package enum HTTP2FrameType {
  package static let data: UInt8 = 0x0
  package static let headers: UInt8 = 0x1
  package static let priority: UInt8 = 0x2
  package static let reset: UInt8 = 0x3
  package static let settings: UInt8 = 0x4
  package static let pushPromise: UInt8 = 0x5
  package static let ping: UInt8 = 0x6
  package static let goAway: UInt8 = 0x7
  package static let windowUpdate: UInt8 = 0x8
  package static let continuation: UInt8 = 0x9
  /// RFC 9218 §7.1.
  package static let priorityUpdate: UInt8 = 0x10
}

package enum HTTP2FrameFlag {
  /// Of SETTINGS and PING; the same bit is END_STREAM elsewhere.
  package static let acknowledgement: UInt8 = 0x1
  package static let endStream: UInt8 = 0x1
  package static let endHeaders: UInt8 = 0x4
  package static let padded: UInt8 = 0x8
  package static let priority: UInt8 = 0x20
}

/// The nine bytes before every frame's payload (RFC 9113 §4.1).
package struct HTTP2FrameHeader: Equatable {
  package var length: Int
  package var type: UInt8
  package var flags: UInt8
  package var stream: HTTP2StreamNumber

  package static let size = 9

  package init(length: Int, type: UInt8, flags: UInt8 = 0, stream: HTTP2StreamNumber) {
    self.length = length
    self.type = type
    self.flags = flags
    self.stream = stream
  }

  /// The header at the front of `buffer`; nil while there are fewer than nine bytes. Nothing is consumed.
  package init?(peekingAt buffer: ByteBuffer) {
    let start = buffer.readerIndex
    guard let word = buffer.getInteger(at: start, as: UInt32.self),
      let flags = buffer.getInteger(at: start + 4, as: UInt8.self),
      let stream = buffer.getInteger(at: start + 5, as: UInt32.self)
    else { return nil }
    // The highest bit of the stream's number is reserved and ignored.
    self.init(length: Int(word >> 8), type: UInt8(word & 0xff), flags: flags, stream: stream & 0x7fff_ffff)
  }

  package func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

  package func write(into buffer: inout ByteBuffer) {
    buffer.writeInteger(UInt32(truncatingIfNeeded: length) << 8 | UInt32(type))
    buffer.writeInteger(flags)
    buffer.writeInteger(stream)
  }
}

/// What arrived, with padding and continuations already resolved.
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
  /// PRIORITY, and types that are not known: ignored, but counted (RFC 9113 §4.1).
  case ignored

  /// Whether it is part of a request or a response, so that what it means depends on who still waits for it.
  var isOfMessage: Bool {
    switch self {
    case .data, .headers: true
    default: false
    }
  }
}

/// One parameter of SETTINGS (RFC 9113 §6.5).
package struct HTTP2Setting: Equatable, Sendable {
  package var identifier: UInt16
  package var value: UInt32

  package init(_ identifier: UInt16, _ value: UInt32) {
    self.identifier = identifier
    self.value = value
  }

  package static let headerTableSize: UInt16 = 0x1
  package static let enablePush: UInt16 = 0x2
  package static let maximumConcurrentStreams: UInt16 = 0x3
  package static let initialWindowSize: UInt16 = 0x4
  package static let maximumFrameSize: UInt16 = 0x5
  package static let maximumHeaderListSize: UInt16 = 0x6
  /// RFC 8441 §3.
  package static let enableConnectProtocol: UInt16 = 0x8
  /// RFC 9218 §2.1.
  package static let noRFC7540Priorities: UInt16 = 0x9
}
