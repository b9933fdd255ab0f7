import Testing

@testable import SystemServices

/// Tables of the kernel as it writes them into /proc/net.
enum RouteTable {
  static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

  static func ipv4(_ interface: String, _ destination: String, _ flags: String, mask: String = "00000000") -> String {
    "\(interface)\t\(destination)\t010200C0\t\(flags)\t0\t0\t0\t\(mask)\t0\t0\t0\n"
  }

  static func ipv6(_ destination: String, _ prefix: String, _ flags: String, _ interface: String) -> String {
    let zero = String(repeating: "0", count: 32)
    let address = destination + zero.dropFirst(destination.count)
    return "\(address) \(prefix) \(zero) 00 \(zero) 00000400 00000001 00000000 \(flags) \(interface)\n"
  }

  /// 192.168.122.0/24, of virtual machines; 172.17.0.0/16, of containers.
  static let virtual =
    head + ipv4("virbr0", "007AA8C0", "0001", mask: "00FFFFFF") + ipv4("docker0", "000011AC", "0001", mask: "0000FFFF")
  /// 192.0.2.0/24.
  static let local = ipv4("eth0", "000200C0", "0001", mask: "00FFFFFF")
  /// What every interface has, whether or not it leads anywhere.
  static let ordinary =
    ipv6("fe80", "40", "00000001", "docker0") + ipv6("ff00", "08", "00000001", "docker0")
    + ipv6("0", "00", "00200200", "lo") + ipv6("0", "80", "80200001", "lo")
}

@Suite struct NetworkRoutesTests {
  struct Machine: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var ipv4 = RouteTable.head
    var ipv6 = RouteTable.ordinary
    var resolver = "nameserver 127.0.0.53\noptions edns0 trust-ad\n"
    var hasWay: Bool
  }

  static let machines: [Machine] = [
    Machine(testDescription: "nothing", ipv4: "", ipv6: "", resolver: "", hasWay: false),
    Machine(testDescription: "no routes", hasWay: false),
    Machine(
      testDescription: "a default route", ipv4: RouteTable.head + RouteTable.ipv4("eth0", "00000000", "0003"),
      hasWay: true),
    Machine(
      testDescription: "a default route of IPv6",
      ipv6: RouteTable.ordinary + RouteTable.ipv6("0", "00", "00000003", "eth0"), hasWay: true),
    Machine(
      testDescription: "the two halves that a VPN sets",
      ipv4: RouteTable.head + RouteTable.ipv4("tun0", "00000000", "0003", mask: "00000080"), hasWay: true),
    Machine(testDescription: "bridges of virtual machines", ipv4: RouteTable.virtual, hasWay: false),
    Machine(
      testDescription: "bridges, and a server of names far away", ipv4: RouteTable.virtual,
      resolver: "nameserver 192.0.2.1\n", hasWay: false),
    Machine(
      testDescription: "bridges, and a server of names on one of them", ipv4: RouteTable.virtual,
      resolver: "# ours\nsearch example\nnameserver 172.17.0.1\n", hasWay: true),
    Machine(
      testDescription: "a network with its own server of names", ipv4: RouteTable.head + RouteTable.local,
      resolver: "nameserver 198.51.100.1\nnameserver\t192.0.2.53 \n", hasWay: true),
    Machine(
      testDescription: "a network without a server of names", ipv4: RouteTable.head + RouteTable.local, hasWay: false),
    Machine(
      testDescription: "a server of names in IPv6",
      ipv6: RouteTable.ordinary + RouteTable.ipv6("fd00", "08", "00000001", "eth0"),
      resolver: "nameserver fd12::53\n", hasWay: true),
    Machine(
      testDescription: "a server of names on another interface's link",
      resolver: "nameserver fe80::1%eth0\n", hasWay: false),
    Machine(
      testDescription: "a server of names on the link",
      resolver: "nameserver fe80::1%docker0\n", hasWay: true),
    Machine(
      testDescription: "a default route that is down",
      ipv4: RouteTable.head + RouteTable.ipv4("eth0", "00000000", "0002"), hasWay: false),
    Machine(
      testDescription: "a default route that rejects",
      ipv4: RouteTable.head + RouteTable.ipv4("eth0", "00000000", "0201"), hasWay: false),
    Machine(
      testDescription: "the loopback interface",
      ipv4: RouteTable.head + RouteTable.ipv4("lo", "0000007F", "0001", mask: "000000FF"),
      ipv6: RouteTable.ipv6("0", "00", "00000001", "lo"), resolver: "nameserver ::1\nnameserver 127.0.0.1\n",
      hasWay: false),
    Machine(
      testDescription: "a first line, which is never a route", ipv4: RouteTable.ipv4("eth0", "00000000", "0003"),
      hasWay: false),
    Machine(
      testDescription: "nonsense", ipv4: RouteTable.head + "eth0\t00000000\n eth0 0 0 zz 0 0 0 0\n\n\u{0}\n",
      ipv6: "0 00 0\n" + RouteTable.ipv6("xyz", "00", "00000003", "eth0")
        + RouteTable.ipv6("0", "zz", "00000003", "eth0") + RouteTable.ipv6("0", "00", "zz", "eth0"),
      resolver: "nameserver\nnameserver example.org\nnameserver %\nnameserver 1.2.3\nnameserver 300.1.1.1\n",
      hasWay: false),
  ]

  @Test(arguments: machines) func nameLookUpNeedsARoute(_ machine: Machine) {
    #expect(
      NetworkRoutes.leadToNames(ipv4: machine.ipv4, ipv6: machine.ipv6, resolver: machine.resolver) == machine.hasWay)
  }

  @Test func routesAreParsed() {
    #expect(
      NetworkRoute.ipv4(RouteTable.head + RouteTable.local)
        == [NetworkRoute(interface: "eth0", destination: [192, 0, 2, 0], prefix: 24)])
    #expect(
      NetworkRoute.ipv6(RouteTable.ipv6("20010db8", "21", "00000001", "eth0"))
        == [
          NetworkRoute(
            interface: "eth0", destination: [0x20, 1, 0xd, 0xb8] + Array(repeating: 0, count: 12), prefix: 33)
        ])
  }

  @Test(arguments: [("2001:db8::1", true), ("2001:db8:7fff::1", true), ("2001:db8:8000::1", false), ("::", false)])
  func prefixMayEndWithinAByte(address: String, isLedTo: Bool) throws {
    let route = try #require(NetworkRoute.ipv6(RouteTable.ipv6("20010db8", "21", "00000001", "eth0")).first)
    #expect(route.leads(to: try #require(NameServer(address[...]))) == isLedTo)
  }
}
