/// The server's choices, read from the first bytes it sends in a TLS handshake: they are never encrypted.
/// The TLS library does not say which cipher suite it speaks.
package struct ServerHello: Equatable {
  /// The number in IANA's registry of cipher suites.
  package let cipherSuite: UInt16

  package enum Reading: Equatable {
    case needsMore
    case found(ServerHello)
    /// An alert, or no TLS.
    case isNone
  }

  /// RFC 8446 §5.1 (record), §4 (handshake message), §4.1.3 (ServerHello). A HelloRetryRequest has the same form and
  /// binds the server to the suite it names (§4.1.4). TLS 1.2 has the same form (RFC 5246 §7.4.1.3).
  package static func read(_ bytes: some RandomAccessCollection<UInt8>) -> Reading {
    func byte(_ offset: Int) -> UInt8? {
      offset < bytes.count ? bytes[bytes.index(bytes.startIndex, offsetBy: offset)] : nil
    }
    for (offset, expected) in [(0, 22), (1, 3), (5, 2)] as [(Int, UInt8)] {
      guard let found = byte(offset) else { return .needsMore }
      guard found == expected else { return .isNone }
    }
    // 5 bytes of record header, 4 of message header, 2 of version, 32 of random.
    guard let sessionIDLength = byte(43) else { return .needsMore }
    guard sessionIDLength <= 32 else { return .isNone }
    guard let high = byte(44 + Int(sessionIDLength)), let low = byte(45 + Int(sessionIDLength)) else {
      return .needsMore
    }
    return .found(ServerHello(cipherSuite: UInt16(high) << 8 | UInt16(low)))
  }
}
