/// The scope of an address and its place in the default policy table (RFC 6724 §2.1, §3).
struct AddressTraits: Equatable {
  struct Policy: Equatable {
    let precedence: Int
    let label: Int
  }

  /// Sixteen bytes: addresses of IPv4 are written as IPv6 has them (`::ffff:a.b.c.d`).
  private let bytes: [UInt8]

  /// The numbers of RFC 4291 §2.7: the larger, the further an address reaches.
  static let linkScope = 0x2
  static let siteScope = 0x5
  static let globalScope = 0xe

  /// - Parameter address: of 4 or 16 bytes.
  init(_ address: NetworkAddress) {
    bytes = address.bytes.count == 4 ? AddressTraits.mappedPrefix + address.bytes : address.bytes
  }

  private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

  private var isIPv4: Bool { bytes.starts(with: AddressTraits.mappedPrefix) }

  /// Private addresses of IPv4 and unique local ones of IPv6 are global (RFC 6724 §3.2).
  var scope: Int {
    guard bytes.count == 16 else { return AddressTraits.globalScope }
    if isIPv4 {
      let isOfLink = bytes[12] == 127 || bytes[12] == 169 && bytes[13] == 254
      return isOfLink ? AddressTraits.linkScope : AddressTraits.globalScope
    }
    if bytes[0] == 0xff { return Int(bytes[1] & 0xf) }
    if bytes[0] == 0xfe, bytes[1] & 0xc0 == 0x80 { return AddressTraits.linkScope }
    if bytes[0] == 0xfe, bytes[1] & 0xc0 == 0xc0 { return AddressTraits.siteScope }
    // §3.1: the loopback address is one of a link.
    return matches(AddressTraits.loopback, bits: 128) ? AddressTraits.linkScope : AddressTraits.globalScope
  }

  /// The entry with the longest prefix counts.
  var policy: Policy {
    AddressTraits.policies.first { matches($0.prefix, bits: $0.bits) }?.policy ?? Policy(precedence: 40, label: 1)
  }

  /// How many bits both have in common, of those that name a network (RFC 6724 §2.2): networks of IPv6 have 64 as a rule.
  /// 0 for IPv4.
  func sharedPrefix(with other: AddressTraits) -> Int {
    guard !isIPv4, !other.isIPv4 else { return 0 }
    var count = 0
    for (one, two) in zip(bytes, other.bytes).prefix(8) {
      count += (one ^ two).leadingZeroBitCount
      if one != two { break }
    }
    return count
  }

  private func matches(_ prefix: [UInt8], bits: Int) -> Bool {
    zip(bytes, prefix).enumerated().allSatisfy { index, pair in
      let mask = UInt8(truncatingIfNeeded: 0xff00 >> min(max(bits - index * 8, 0), 8))
      return pair.0 & mask == pair.1 & mask
    }
  }

  private static let loopback = padded([], last: 1)

  private static func padded(_ start: [UInt8], last: UInt8 = 0) -> [UInt8] {
    start + Array(repeating: 0, count: 15 - start.count) + [last]
  }

  /// The table of RFC 6724 §2.1, the longest prefixes first.
  private static let policies: [(prefix: [UInt8], bits: Int, policy: Policy)] = [
    (loopback, 128, Policy(precedence: 50, label: 0)),
    (mappedPrefix, 96, Policy(precedence: 35, label: 4)),
    (padded([]), 96, Policy(precedence: 1, label: 3)),
    (padded([0x20, 0x01]), 32, Policy(precedence: 5, label: 5)),
    (padded([0x20, 0x02]), 16, Policy(precedence: 30, label: 2)),
    (padded([0x3f, 0xfe]), 16, Policy(precedence: 1, label: 12)),
    (padded([0xfe, 0xc0]), 10, Policy(precedence: 1, label: 11)),
    (padded([0xfc]), 7, Policy(precedence: 3, label: 13)),
  ]
}
