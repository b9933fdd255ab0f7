/// Reads the SETTINGS of an HTTP/3 server from the streams that only it sends on (RFC 9114 §6.2.1, §7.2.4), as their bytes
/// arrive. The library keeps them to itself. It checks them too: what is malformed here ends the connection there, and is
/// passed over.
package struct HTTP3PeerSettings {
  /// RFC 9220 §3: a stream may carry another protocol. nil before the settings are there.
  package private(set) var enablesConnectProtocol: Bool?

  private var streams: [Int64: Stream] = [:]
  /// The control stream comes among the first.
  private static let mostStreams = 8

  private struct Stream {
    var number = VariableLengthInteger()
    var phase = Phase.streamType
    /// Bytes of the frame that did not arrive yet.
    var left: UInt64 = 0
    var enablesConnectProtocol = false

    var isInFrame: Bool {
      switch phase {
      case .identifier, .value: true
      case .streamType, .frameType, .frameLength, .over: false
      }
    }
  }

  private enum Phase {
    case streamType, frameType, frameLength, identifier, over
    case value(of: UInt64)
  }

  package init() {}

  /// - Returns: whether more bytes are wanted, of any stream.
  package mutating func read(_ bytes: UnsafeBufferPointer<UInt8>, of stream: Int64) -> Bool {
    guard enablesConnectProtocol == nil else { return false }
    guard var state = streams[stream] ?? (streams.count < HTTP3PeerSettings.mostStreams ? Stream() : nil) else {
      return true
    }
    for byte in bytes {
      if case .over = state.phase { break }
      read(byte, &state)
      if enablesConnectProtocol != nil { return false }
    }
    streams[stream] = state
    return true
  }

  private mutating func read(_ byte: UInt8, _ stream: inout Stream) {
    if stream.isInFrame { stream.left -= 1 }
    guard let number = stream.number.read(byte) else {
      // A number that goes past the frame's end is no setting.
      if stream.left == 0, stream.isInFrame { stream.phase = .over }
      return
    }
    switch stream.phase {
    case .streamType: stream.phase = number == 0x00 ? .frameType : .over
    case .frameType: stream.phase = number == 0x04 ? .frameLength : .over
    case .frameLength:
      stream.left = number
      stream.phase = .identifier
      endIfComplete(stream)
    case .identifier: stream.phase = stream.left == 0 ? .over : .value(of: number)
    case .value(let identifier):
      if identifier == 0x08 { stream.enablesConnectProtocol = number == 1 }
      stream.phase = .identifier
      endIfComplete(stream)
    case .over: break
    }
  }

  private mutating func endIfComplete(_ stream: Stream) {
    if stream.left == 0 { enablesConnectProtocol = stream.enablesConnectProtocol }
  }
}

/// A number of QUIC (RFC 9000 §16) that arrives byte by byte.
private struct VariableLengthInteger {
  private var value: UInt64 = 0
  private var missing = 0

  /// The number, when this is its last byte.
  mutating func read(_ byte: UInt8) -> UInt64? {
    if missing == 0 {
      missing = 1 << Int(byte >> 6)
      value = UInt64(byte & 0x3f)
    } else {
      value = value << 8 | UInt64(byte)
    }
    missing -= 1
    return missing == 0 ? value : nil
  }
}
