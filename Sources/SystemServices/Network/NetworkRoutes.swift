import Foundation

/// What the kernel's routing tables say, read from /proc.
package enum NetworkRoutes {
  /// Whether there is a route to anywhere but this machine. True when the tables can't be read.
  package static var leadAnywhere: Bool {
    let tables = ["/proc/net/route", "/proc/net/ipv6_route"].map { try? String(contentsOfFile: $0, encoding: .utf8) }
    guard tables.contains(where: { $0 != nil }) else { return true }
    return ipv4LeadsAnywhere(tables[0] ?? "") || ipv6LeadsAnywhere(tables[1] ?? "")
  }

  /// Every line but the first is a route: interface, destination, gateway, flags…
  static func ipv4LeadsAnywhere(_ table: String) -> Bool {
    table.split(separator: "\n").dropFirst().contains { line in
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count > 3, let flags = UInt32(fields[3], radix: 16) else { return false }
      // RTF_UP, and not RTF_REJECT.
      return fields[0] != "lo" && flags & 0x0001 != 0 && flags & 0x0200 == 0
    }
  }

  /// Destination, its prefix length, source, its prefix length, next hop, metric, counters, flags, interface.
  static func ipv6LeadsAnywhere(_ table: String) -> Bool {
    table.split(separator: "\n").contains { line in
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count > 9, let flags = UInt32(fields[8], radix: 16) else { return false }
      let isLocal = fields[0].hasPrefix("fe80") || fields[0].hasPrefix("ff00")
      // RTF_UP; neither RTF_REJECT nor RTF_LOCAL (an address of this machine's own).
      return fields[9] != "lo" && !isLocal && flags & 0x0001 != 0 && flags & 0x8000_0200 == 0
    }
  }
}
