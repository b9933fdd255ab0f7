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
