import NIOCore

/// A line in the format of NSS key logs: a label, the client's random bytes and the secret in hexadecimal digits, with a space
/// between each two.
enum KeyLogLine {
  /// The secret that protects the server's side of the handshake; nil for a line of another secret, and one that makes no sense.
  static func serverHandshakeSecret(in line: ByteBuffer) -> [UInt8]? {
    line.withUnsafeReadableBytes { bytes -> [UInt8]? in
      guard bytes.starts(with: label.utf8) else { return nil }
      let rest = bytes.dropFirst(label.utf8.count)
      guard let space = rest.firstIndex(of: UInt8(ascii: " ")) else { return nil }
      let digits = rest[(space + 1)...].prefix { $0 != UInt8(ascii: "\n") }
      guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
      var secret: [UInt8] = []
      secret.reserveCapacity(digits.count / 2)
      for index in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
        guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
        secret.append(high << 4 | low)
      }
      return secret
    }
  }

  private static let label = "SERVER_HANDSHAKE_TRAFFIC_SECRET "

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
