/// The bytes of an IP address written as text: four for IPv4, sixteen for IPv6.
///
/// Strict: a name is never taken for an address. A zone (`%eth0`) is not part of the address and is refused.
package struct IPAddressText: Sendable, Hashable {
  package let bytes: [UInt8]

  package var isIPv4: Bool { bytes.count == 4 }

  /// An address as a URL's host, without brackets; nil for a name.
  package init?(_ text: some StringProtocol) {
    guard let bytes = IPAddressText.ipv4(Array(text.utf8)[...]) ?? IPAddressText.ipv6(Array(text.utf8)[...]) else {
      return nil
    }
    self.bytes = bytes
  }

  /// 127.0.0.0/8 (RFC 1122 §3.2.1.3), ::1 (RFC 4291 §2.5.3), and the former inside the latter's notation.
  package var isLoopback: Bool {
    if isIPv4 { return bytes[0] == 127 }
    if bytes.dropLast().allSatisfy({ $0 == 0 }) { return bytes[15] == 1 }
    return bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff && bytes[12] == 127
  }

  /// Whether the first `prefix` bits are those of `other`. Addresses of two families never match.
  package func matches(_ other: IPAddressText, prefix: Int) -> Bool {
    guard bytes.count == other.bytes.count, prefix >= 0 else { return false }
    let whole = min(prefix, bytes.count * 8) / 8
    guard bytes.prefix(whole).elementsEqual(other.bytes.prefix(whole)) else { return false }
    let rest = prefix - whole * 8
    guard rest > 0, whole < bytes.count else { return true }
    return bytes[whole] >> UInt8(8 - rest) == other.bytes[whole] >> UInt8(8 - rest)
  }

  /// Four decimal numbers without leading zeros. `isShort` lets the last ones be missing, as in `169.254/16`.
  static func ipv4(_ text: ArraySlice<UInt8>, isShort: Bool = false) -> [UInt8]? {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 || (isShort && (1...4).contains(parts.count)) else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard part.count <= 3, part.count == 1 || part.first != UInt8(ascii: "0"),
        let number = Int64(decimalDigits: part), number <= 255
      else { return nil }
      bytes.append(UInt8(number))
    }
    return bytes + Array(repeating: 0, count: 4 - bytes.count)
  }

  /// RFC 4291 §2.2: eight groups, one run of zero groups left out, the last two perhaps written as IPv4.
  private static func ipv6(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var halves: [[UInt8]] = []
    var rest = text
    if let gap = rest.indices.first(where: { isColon(rest, $0) && isColon(rest, $0 + 1) }) {
      guard let head = groups(rest[..<gap], mayEndInIPv4: false) else { return nil }
      halves.append(head)
      rest = rest[(gap + 2)...]
      guard let tail = groups(rest, mayEndInIPv4: true), head.count + tail.count <= 14 else { return nil }
      return head + Array(repeating: 0, count: 16 - head.count - tail.count) + tail
    }
    guard let all = groups(rest, mayEndInIPv4: true), all.count == 16 else { return nil }
    return all
  }

  private static func isColon(_ text: ArraySlice<UInt8>, _ index: Int) -> Bool {
    text.indices.contains(index) && text[index] == UInt8(ascii: ":")
  }

  private static func groups(_ text: ArraySlice<UInt8>, mayEndInIPv4: Bool) -> [UInt8]? {
    guard !text.isEmpty else { return [] }
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count <= 8 else { return nil }
    var bytes: [UInt8] = []
    for (index, part) in parts.enumerated() {
      if mayEndInIPv4, index == parts.count - 1, let ipv4 = ipv4(part) {
        bytes += ipv4
        continue
      }
      guard (1...4).contains(part.count) else { return nil }
      var group: UInt16 = 0
      for digit in part {
        guard let value = digit.hexValue else { return nil }
        group = group << 4 | UInt16(value)
      }
      bytes += [UInt8(group >> 8), UInt8(group & 0xff)]
    }
    return bytes.count <= 16 ? bytes : nil
  }
}
