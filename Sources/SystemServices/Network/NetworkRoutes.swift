import Foundation

/// Whether names can be looked up, as far as the kernel's routing tables in /proc and the resolver's configuration tell.
///
/// A route alone is not enough: a bridge for virtual machines or containers has one and leads nowhere else. Names need
/// a default route, or at least a route to a name server.
package enum NetworkRoutes {
  /// Whether there is a default route, or a route to a name server. True when the tables can't be read.
  package static var leadToNames: Bool {
    let tables = ["/proc/net/route", "/proc/net/ipv6_route"].map { try? String(contentsOfFile: $0, encoding: .utf8) }
    guard tables.contains(where: { $0 != nil }) else { return true }
    return leadToNames(
      ipv4: tables[0] ?? "", ipv6: tables[1] ?? "",
      resolver: (try? String(contentsOfFile: "/etc/resolv.conf", encoding: .utf8)) ?? "")
  }

  /// - Parameters:
  ///   - ipv4: As /proc/net/route has it.
  ///   - ipv6: As /proc/net/ipv6_route has it.
  ///   - resolver: As resolv.conf(5) has it.
  static func leadToNames(ipv4: String, ipv6: String, resolver: String) -> Bool {
    let routes = NetworkRoute.ipv4(ipv4) + NetworkRoute.ipv6(ipv6)
    return routes.contains { $0.isDefault }
      || NameServer.all(in: resolver).contains { server in routes.contains { $0.leads(to: server) } }
  }
}
