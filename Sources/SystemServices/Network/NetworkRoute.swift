/// A route that is up, accepts packets and leads off this machine.
struct NetworkRoute: Equatable {
  var interface: String
  var destination: [UInt8]
  /// How many bits of the destination count.
  var prefix: Int

  /// Two halves of everything (`0.0.0.0/1` and `128.0.0.0/1`) are how VPNs take the default route's place.
  var isDefault: Bool { prefix <= 1 }

  func leads(to server: NameServer) -> Bool {
    guard server.bytes.count == destination.count, server.interface == nil || server.interface == interface else {
      return false
    }
    return zip(server.bytes, destination).enumerated().allSatisfy { index, pair in
      let bits = min(max(prefix - index * 8, 0), 8)
      let mask = UInt8(truncatingIfNeeded: 0xff00 >> bits)
      return pair.0 & mask == pair.1 & mask
    }
  }

  /// Every line but the first is a route: interface, destination, gateway, flags, counters, metric, mask…
  static func ipv4(_ table: String) -> [NetworkRoute] {
    table.split(separator: "\n").dropFirst().compactMap { line in
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count > 7, let flags = UInt32(fields[3], radix: 16), fields[0] != "lo",
        // RTF_UP, and not RTF_REJECT.
        flags & 0x0001 != 0, flags & 0x0200 == 0, let destination = UInt32(fields[1], radix: 16),
        let mask = UInt32(fields[7], radix: 16)
      else { return nil }
      // The numbers are in the byte order of the machine, their bytes in that of the network.
      let bytes = withUnsafeBytes(of: destination) { Array($0) }
      return NetworkRoute(interface: String(fields[0]), destination: bytes, prefix: mask.nonzeroBitCount)
    }
  }

  /// Destination, its prefix length, source, its prefix length, next hop, metric, counters, flags, interface.
  static func ipv6(_ table: String) -> [NetworkRoute] {
    table.split(separator: "\n").compactMap { line in
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count > 9, let flags = UInt32(fields[8], radix: 16), fields[9] != "lo",
        // RTF_UP; neither RTF_REJECT nor RTF_LOCAL (an address of this machine's own).
        flags & 0x0001 != 0, flags & 0x8000_0200 == 0, let destination = bytes(fields[0]),
        let prefix = Int(fields[1], radix: 16), prefix <= 128
      else { return nil }
      return NetworkRoute(interface: String(fields[9]), destination: destination, prefix: prefix)
    }
  }

  /// Thirty-two hexadecimal digits.
  static func bytes(_ text: Substring) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count == 32 else { return nil }
    let bytes = stride(from: 0, to: 32, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
    }
    return bytes.count == 16 ? bytes : nil
  }
}
