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
  /// RFC 8336 §2.1.
  package static let origin: UInt8 = 0xc
  /// RFC 9218 §7.1.
  package static let priorityUpdate: UInt8 = 0x10
}

package enum HTTP2FrameFlag {
  /// ACK of SETTINGS and PING; the same bit is END_STREAM elsewhere.
  package static let acknowledgement: UInt8 = 0x1
  package static let endStream: UInt8 = 0x1
  package static let endHeaders: UInt8 = 0x4
  package static let padded: UInt8 = 0x8
  package static let priority: UInt8 = 0x20
}
