import CLinux
import Glibc

/// The facts about a machine's network that decide which addresses names have there and which way packets take. While it is the
/// same, what was learned of names and servers still holds, whatever else the kernel tells.
///
/// It has the addresses that reach further than their link, whether the kernel still prefers them as sources, the routes, the
/// sources that it chooses, and whether the interfaces carry a signal that lead to other networks. Lifetimes, which a router renews every few seconds,
/// are left out, and so are addresses of links alone: interfaces of containers have no others.
struct NetworkDigest: Equatable, Sendable {
  /// The kernel's tables, as /proc has them, and the answers of its older calls.
  struct Tables {
    /// /proc/net/route
    var ipv4Routes = ""
    /// /proc/net/ipv6_route
    var ipv6Routes = ""
    /// /proc/net/if_inet6
    var ipv6Addresses = ""
    var ipv4Addresses: [(interface: String, bytes: [UInt8])] = []
    /// The flags of an interface; nil for none of that name.
    var flags: (_ interface: String) -> Int32? = { _ in nil }
    /// The address from which packets to another would come.
    var source: (_ destination: NetworkAddress) -> NetworkAddress? = { _ in nil }
  }

  /// In order, and each once.
  let facts: [String]

  init(_ tables: Tables) {
    let routes = NetworkDigest.ipv4Routes(tables.ipv4Routes) + NetworkDigest.ipv6Routes(tables.ipv6Routes)
    let addresses =
      NetworkDigest.ipv4Addresses(tables.ipv4Addresses, tables.flags)
      + NetworkDigest.ipv6Addresses(tables.ipv6Addresses)
    let links = Set(routes.filter(\.leadsFurther).map(\.interface)).map { interface in
      // One about which nothing can be learned is taken for one that works.
      let carries = tables.flags(interface).map { $0 & NetworkDigest.running != 0 } ?? true
      return "\(interface) \(carries ? "carries" : "is down")"
    }
    // Rules and other tables than the main one, of which the kernel's files tell nothing, show in the sources.
    let known = routes.sorted { $0.fact < $1.fact }.compactMap(\.within).prefix(NetworkDigest.mostSources)
    let destinations = NetworkDigest.anywhere + known
    let sources = destinations.map { "\($0.bytes) from \(tables.source($0).map { "\($0.bytes)" } ?? "nothing")" }
    facts = Set(routes.map(\.fact) + addresses + links + sources).sorted()
  }

  /// That of this machine now. Takes a few system calls, and needs no netlink socket.
  static func current() -> NetworkDigest {
    var tables = Tables()
    tables.ipv4Routes = text(of: "/proc/net/route")
    tables.ipv6Routes = text(of: "/proc/net/ipv6_route")
    tables.ipv6Addresses = text(of: "/proc/net/if_inet6")
    tables.ipv4Addresses = ownAddresses()
    tables.flags = { interface in
      let flags = clinux_interface_flags(interface)
      return flags < 0 ? nil : flags
    }
    tables.source = SourceAddress.towards
    return NetworkDigest(tables)
  }

  // MARK: Addresses

  /// IFF_UP and IFF_RUNNING.
  private static let up: Int32 = 0x1
  private static let running: Int32 = 0x40

  /// The addresses of an interface that is down stay in the table.
  private static func ipv4Addresses(
    _ table: [(interface: String, bytes: [UInt8])], _ flags: (String) -> Int32?
  ) -> [String] {
    table.compactMap { interface, bytes in
      guard flags(interface).map({ $0 & up != 0 }) ?? true, !bytes.starts(with: [169, 254]) else { return nil }
      return "\(interface) has \(bytes.map { "\($0)" }.joined(separator: "."))"
    }
  }

  /// Address, interface's number, prefix length, scope, flags, interface.
  private static func ipv6Addresses(_ table: String) -> [String] {
    table.split(separator: "\n").compactMap { line in
      let fields = line.split(whereSeparator: \.isWhitespace)
      // IPV6_ADDR_LINKLOCAL. IFA_F_DADFAILED, and IFA_F_TENTATIVE without IFA_F_OPTIMISTIC: no packet comes from it yet.
      guard fields.count > 5, let scope = UInt32(fields[3], radix: 16), scope != 0x20,
        let flags = UInt32(fields[4], radix: 16), flags & 0x08 == 0, flags & 0x44 != 0x40
      else { return nil }
      // IFA_F_DEPRECATED.
      return "\(fields[5]) has \(fields[0])\(flags & 0x20 == 0 ? "" : ", deprecated")"
    }
  }

  // MARK: Routes

  private struct Route {
    let interface: String
    let fact: String
    /// Whether it is a default route, or has a gateway.
    let leadsFurther: Bool
    /// An address to which it leads; nil for a default route.
    let within: NetworkAddress?
  }

  /// Addresses to which a default route leads: those of documentation (RFC 5737, RFC 3849).
  private static let anywhere = [
    NetworkAddress([203, 0, 113, 1]),
    NetworkAddress([0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1]),
  ]
  /// Of routes whose sources are looked at.
  private static let mostSources = 16

  /// The first address of a network.
  private static func within(_ network: [UInt8], prefix: Int) -> NetworkAddress? {
    guard prefix > 1, let last = network.last else { return nil }
    return NetworkAddress(network.dropLast() + [prefix < 8 * network.count ? last | 1 : last])
  }

  /// Interface, destination, gateway, flags, counters, metric, mask. The first line names the fields.
  private static func ipv4Routes(_ table: String) -> [Route] {
    table.split(separator: "\n").dropFirst().compactMap { line in
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count > 7, fields[0] != "lo", let flags = UInt32(fields[3], radix: 16),
        let destination = UInt32(fields[1], radix: 16), let mask = UInt32(fields[7], radix: 16),
        // RTF_UP; 169.254.0.0/16.
        flags & 0x1 != 0, !withUnsafeBytes(of: destination, { $0.starts(with: [169, 254]) })
      else { return nil }
      return Route(
        interface: String(fields[0]),
        fact: "\(fields[0]) to \(fields[1])/\(fields[7]) by \(fields[2]), metric \(fields[6])",
        leadsFurther: mask.nonzeroBitCount <= 1 || fields[2].contains { $0 != "0" },
        within: within(withUnsafeBytes(of: destination) { Array($0) }, prefix: mask.nonzeroBitCount))
    }
  }

  /// Destination, its prefix length, source, its prefix length, next hop, metric, counters, flags, interface.
  private static func ipv6Routes(_ table: String) -> [Route] {
    table.split(separator: "\n").compactMap { line in
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count > 9, fields[9] != "lo", let flags = UInt32(fields[8], radix: 16),
        let start = UInt16(fields[0].prefix(4), radix: 16), let prefix = Int(fields[1], radix: 16),
        // RTF_UP; none of RTF_LOCAL, RTF_CACHE, RTF_ANYCAST, RTF_REJECT, RTF_DYNAMIC; fe80::/10 and ff00::/8.
        flags & 0x1 != 0, flags & 0x8110_0210 == 0, start & 0xffc0 != 0xfe80, start & 0xff00 != 0xff00
      else { return nil }
      return Route(
        interface: String(fields[9]),
        fact:
          "\(fields[9]) to \(fields[0])/\(fields[1]) from \(fields[2])/\(fields[3]) by \(fields[4]), metric \(fields[5])",
        leadsFurther: prefix <= 1 || fields[4].contains { $0 != "0" },
        within: NetworkRoute.bytes(fields[0]).flatMap { within($0, prefix: prefix) })
    }
  }

  // MARK: This machine

  /// A router may have a hundred thousand routes: so much of a table is enough.
  private static let mostBytes = 64 * 1024
  private static let mostAddresses: Int32 = 256

  /// The whole lines at the beginning of a file; empty when it can't be read.
  private static func text(of path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: mostBytes)
    var count = 0
    while count < bytes.count {
      let more = bytes.withUnsafeMutableBytes { buffer in
        buffer.baseAddress.map { read(descriptor, $0 + count, buffer.count - count) } ?? 0
      }
      guard more > 0 else { break }
      count += more
    }
    let whole = bytes[..<count].lastIndex(of: UInt8(ascii: "\n")).map { bytes[...$0] } ?? []
    return String(decoding: whole, as: UTF8.self)
  }

  private static func ownAddresses() -> [(interface: String, bytes: [UInt8])] {
    var list = [clinux_ipv4_address](repeating: clinux_ipv4_address(), count: Int(mostAddresses))
    let count = clinux_ipv4_addresses(&list, mostAddresses)
    return list.prefix(Int(max(count, 0))).map { entry in
      let name = withUnsafeBytes(of: entry.interface) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      return (name, withUnsafeBytes(of: entry.bytes) { Array($0) })
    }
  }
}
