import Testing

@testable import SystemServices

/// Which changes of a machine's network count.
@Suite struct NetworkDigestTests {
  /// A machine with one network of both families, and a bridge for containers.
  private static func machine() -> NetworkDigest.Tables {
    var tables = NetworkDigest.Tables()
    tables.ipv4Routes = RouteTable.head + RouteTable.ipv4("eth0", "00000000", "0003") + RouteTable.local + bridge
    tables.ipv6Routes =
      RouteTable.ordinary + RouteTable.ipv6("20010db8", "40", "00400001", "eth0")
      + RouteTable.ipv6("0", "00", "00400003", "eth0")
    tables.ipv6Addresses =
      address("20010db8", scope: "00", flags: "00", "eth0") + address("fe80", scope: "20", flags: "80", "eth0")
      + address("0", scope: "10", flags: "80", "lo")
    tables.ipv4Addresses = [("lo", [127, 0, 0, 1]), ("eth0", [192, 0, 2, 7]), ("docker0", [172, 17, 0, 1])]
    // IFF_UP, and IFF_RUNNING but for the bridge.
    tables.flags = { ["lo": 0x49, "eth0": 0x1043, "docker0": 0x1003][$0] }
    tables.source = { _ in NetworkAddress([192, 0, 2, 7]) }
    return tables
  }

  /// 172.17.0.0/16, to which no gateway leads.
  private static let bridge = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"

  private static func address(_ start: String, scope: String, flags: String, _ interface: String) -> String {
    "\(start + String(repeating: "0", count: 32 - start.count)) 02 40 \(scope) \(flags) \(interface)\n"
  }

  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let counts: Bool
    let change: @Sendable (inout NetworkDigest.Tables) -> Void

    init(_ description: String, counts: Bool, _ change: @escaping @Sendable (inout NetworkDigest.Tables) -> Void) {
      testDescription = description
      self.counts = counts
      self.change = change
    }
  }

  static let changes: [Change] = [
    Change("nothing", counts: false) { _ in },
    Change("another order of the routes", counts: false) {
      $0.ipv6Routes = $0.ipv6Routes.split(separator: "\n").reversed().joined(separator: "\n")
    },
    Change("counters of a route", counts: false) {
      $0.ipv6Routes.replace("00000001 00000000", with: "00000009 000000ff")
    },
    Change("a router renews its prefix", counts: false) { $0.ipv6Routes.replace("00400001", with: "00440001") },
    Change("a container's cable comes", counts: false) {
      $0.ipv6Addresses += address("fe8012", scope: "20", flags: "80", "veth1")
      $0.ipv6Routes += RouteTable.ipv6("fe80", "40", "00000001", "veth1")
      $0.flags = { ["lo": 0x49, "eth0": 0x1043, "docker0": 0x1043, "veth1": 0x1043][$0] }
    },
    Change("an address that may be another machine's", counts: false) {
      $0.ipv6Addresses += address("20010db9", scope: "00", flags: "40", "eth0")
    },
    Change("an address that is another machine's", counts: false) {
      $0.ipv6Addresses += address("20010db9", scope: "00", flags: "08", "eth0")
    },
    Change("an address of a link of IPv4", counts: false) { $0.ipv4Addresses.append(("veth1", [169, 254, 1, 1])) },
    Change("an address of an interface that is down", counts: false) {
      $0.ipv4Addresses.append(("eth1", [198, 51, 100, 1]))
      $0.flags = { ["lo": 0x49, "eth0": 0x1043, "docker0": 0x1003, "eth1": 0x1002][$0] }
    },
    Change("a route that is down", counts: false) { $0.ipv4Routes += RouteTable.ipv4("eth1", "00000000", "0002") },
    Change("nonsense", counts: false) {
      $0.ipv4Routes += "eth1\t0\n"
      $0.ipv6Routes += "0 0\n" + RouteTable.ipv6("0", "zz", "00000001", "eth1")
      $0.ipv6Addresses += "20010db8 02 40 zz 00 eth1\n\n"
    },
    Change("another address of IPv4", counts: true) { $0.ipv4Addresses[1].bytes = [192, 0, 2, 8] },
    Change("another address of IPv6", counts: true) {
      $0.ipv6Addresses += address("20010db9", scope: "00", flags: "01", "eth0")
    },
    Change("an optimistic address", counts: true) {
      $0.ipv6Addresses += address("20010db9", scope: "00", flags: "44", "eth0")
    },
    Change("an address that is deprecated", counts: true) {
      $0.ipv6Addresses.replace(
        address("20010db8", scope: "00", flags: "00", "eth0"),
        with: address("20010db8", scope: "00", flags: "20", "eth0"))
    },
    Change("the default route goes", counts: true) {
      $0.ipv4Routes.replace(RouteTable.ipv4("eth0", "00000000", "0003"), with: "")
    },
    Change("another gateway", counts: true) { $0.ipv4Routes.replace("010200C0", with: "fe0200C0") },
    Change("a route of a tunnel", counts: true) {
      $0.ipv4Routes += RouteTable.ipv4("tun0", "0000000A", "0001", mask: "000000FF")
    },
    Change("a source of another table, as of a tunnel by rules", counts: true) {
      $0.source = { NetworkAddress($0.bytes.first == 203 ? [10, 0, 0, 1] : [192, 0, 2, 7]) }
    },
    Change("another source within a network", counts: true) {
      $0.source = { NetworkAddress($0.bytes == [192, 0, 2, 1] ? [192, 0, 2, 9] : [192, 0, 2, 7]) }
    },
    Change("no source", counts: true) { $0.source = { _ in nil } },
    Change("the cable is pulled", counts: true) {
      $0.flags = { ["lo": 0x49, "eth0": 0x1003, "docker0": 0x1003][$0] }
    },
    Change("the interface goes down", counts: true) {
      $0.flags = { ["lo": 0x49, "eth0": 0x1002, "docker0": 0x1003][$0] }
    },
  ]

  @Test(arguments: changes) func someChangesCount(_ change: Change) {
    var tables = Self.machine()
    let before = NetworkDigest(tables)
    change.change(&tables)
    #expect((NetworkDigest(tables) != before) == change.counts)
  }

  /// In a container, too, without a netlink socket.
  @Test func thisMachineHasADigest() {
    let digest = NetworkDigest.current()
    #expect(digest == NetworkDigest.current())
    #expect(digest.facts.contains("lo has 127.0.0.1"))
  }
}
