import Testing

@testable import SystemServices

/// Tables of the kernel as it writes them into /proc/net.
enum RouteTable {
  static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

  static func ipv4Line(_ interface: String, _ destination: String, _ flags: String) -> String {
    "\(interface)\t\(destination)\t010200C0\t\(flags)\t0\t0\t0\t00000000\t0\t0\t0\n"
  }

  static func ipv6Line(_ destination: String, _ flags: String, _ interface: String) -> String {
    let zero = String(repeating: "0", count: 32)
    let address = destination + zero.dropFirst(destination.count)
    return "\(address) 00 \(zero) 00 \(zero) 00000400 00000001 00000000 \(flags) \(interface)\n"
  }

  static let ipv4: [(String, Bool)] = [
    ("", false),
    (head, false),
    (head + ipv4Line("eth0", "00000000", "0003"), true),
    // A network is enough: there need be no default route.
    (head + ipv4Line("eth0", "000200C0", "0001"), true),
    (head + ipv4Line("lo", "0000007F", "0001"), false),
    // Down; rejecting.
    (head + ipv4Line("eth0", "00000000", "0002"), false),
    (head + ipv4Line("eth0", "00000000", "0201"), false),
    (head + ipv4Line("lo", "0000007F", "0001") + ipv4Line("wlan0", "00000000", "0003"), true),
    // The first line is never a route.
    (ipv4Line("eth0", "00000000", "0003"), false),
    (head + "eth0\t00000000\n", false),
    (head + "eth0 0 0 zz\n\n\u{0}\n", false),
  ]

  static let ipv6: [(String, Bool)] = [
    ("", false),
    (ipv6Line("0", "00000003", "eth0"), true),
    (ipv6Line("fd00", "00000001", "eth0"), true),
    // What every interface has, whether or not it leads anywhere.
    (ipv6Line("fe80", "00000001", "eth0"), false),
    (ipv6Line("ff00", "00000001", "eth0"), false),
    // Rejecting; an address of this machine; the loopback interface; down.
    (ipv6Line("0", "00200200", "eth0"), false),
    (ipv6Line("fd00", "80200001", "eth0"), false),
    (ipv6Line("0", "00000001", "lo"), false),
    (ipv6Line("0", "00000000", "eth0"), false),
    (ipv6Line("0", "00200200", "lo") + ipv6Line("2001", "00000003", "wlan0"), true),
    ("0 00 0\n", false),
    (ipv6Line("0", "zz", "eth0"), false),
  ]
}

@Suite struct NetworkRoutesTests {
  @Test(arguments: RouteTable.ipv4) func readsTheTableOfIPv4(_ table: String, _ leadsAnywhere: Bool) {
    #expect(NetworkRoutes.ipv4LeadsAnywhere(table) == leadsAnywhere)
  }

  @Test(arguments: RouteTable.ipv6) func readsTheTableOfIPv6(_ table: String, _ leadsAnywhere: Bool) {
    #expect(NetworkRoutes.ipv6LeadsAnywhere(table) == leadsAnywhere)
  }
}
