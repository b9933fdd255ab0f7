import Glibc
import Testing

@testable import SystemServices

/// RFC 6724, its own examples of §10.2 among them.
@Suite struct DestinationOrderTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Destinations with their sources, as they come from the name servers.
    let given: [(destination: String, source: String?)]
    let order: [String]

    init(_ description: String, _ given: [(String, String?)], _ order: [String]) {
      testDescription = description
      self.given = given
      self.order = order
    }
  }

  static let cases: [Case] = [
    Case(
      "addresses without a source come last",
      [("2001:db8::1", nil), ("198.51.100.1", "192.0.2.1")], ["198.51.100.1", "2001:db8::1"]),
    Case(
      "without any source the precedence still counts",
      [("198.51.100.1", nil), ("2001:db8::1", nil)], ["2001:db8::1", "198.51.100.1"]),
    Case(
      "IPv6 comes before IPv4",
      [("198.51.100.121", "198.51.100.117"), ("2001:db8:1::1", "2001:db8:1::2")],
      ["2001:db8:1::1", "198.51.100.121"]),
    Case(
      "§10.2: a source of the same scope is preferred",
      [("2001:db8:1::1", "fe80::1"), ("198.51.100.121", "198.51.100.117")], ["198.51.100.121", "2001:db8:1::1"]),
    Case(
      "§10.2: IPv4 of one link behind IPv6 of the world",
      [("2001:db8:1::1", "2001:db8:1::2"), ("198.51.100.121", "169.254.13.78")],
      ["2001:db8:1::1", "198.51.100.121"]),
    Case(
      "§10.2: a private source serves a public address",
      [("2001:db8:1::1", "2001:db8:1::2"), ("10.1.2.3", "10.1.2.4")], ["2001:db8:1::1", "10.1.2.3"]),
    Case(
      "§10.2: the smaller scope", [("2001:db8:1::1", "2001:db8:1::2"), ("fe80::1", "fe80::2")],
      ["fe80::1", "2001:db8:1::1"]),
    Case(
      "§10.2: the longer prefix within IPv6",
      [("2001:db8:3ffe::1", "2001:db8:1::2"), ("2001:db8:1::1", "2001:db8:1::2")],
      ["2001:db8:1::1", "2001:db8:3ffe::1"]),
    Case(
      "§10.2: a matching label before 6to4",
      [("2001:db8:1::1", "2002:c633:6401::2"), ("2002:c633:6401::1", "2002:c633:6401::2")],
      ["2002:c633:6401::1", "2001:db8:1::1"]),
    Case(
      "§10.2: the higher precedence",
      [("2002:c633:6401::1", "2002:c633:6401::2"), ("2001:db8:1::1", "2001:db8:1::2")],
      ["2001:db8:1::1", "2002:c633:6401::1"]),
    Case(
      "a local network's own addresses are no way to the world",
      [("2001:db8::1", "fd00::2"), ("198.51.100.1", "192.0.2.1")], ["198.51.100.1", "2001:db8::1"]),
    Case(
      "Teredo comes after IPv4",
      [("2001:0:1::1", "2001:0:2::2"), ("198.51.100.1", "192.0.2.1")], ["198.51.100.1", "2001:0:1::1"]),
    Case(
      "prefixes of IPv4 change nothing",
      [("198.51.100.1", "192.0.2.1"), ("192.0.2.7", "192.0.2.1")], ["198.51.100.1", "192.0.2.7"]),
    Case(
      "bits of an interface do not count",
      [("2001:db8:1::8000:1", "2001:db8:1::2"), ("2001:db8:1::3", "2001:db8:1::2")],
      ["2001:db8:1::8000:1", "2001:db8:1::3"]),
    Case(
      "loopback", [("127.0.0.1", "127.0.0.1"), ("::1", "::1")], ["::1", "127.0.0.1"]),
    Case("nothing", [], []),
  ]

  @Test(arguments: cases) func addressesAreOrdered(_ test: Case) throws {
    let candidates = try test.given.map {
      DestinationOrder.Candidate(try address($0.destination), from: try $0.source.map { try address($0) })
    }
    let expected = try test.order.map { try address($0) }
    #expect(DestinationOrder.sorted(candidates).map(\.address) == expected)
  }

  static let turns: [Case] = [
    Case(
      "IPv6 first where it leads to the world",
      [("2001:db8:1::1", "2001:db8:1::9"), ("2001:db8:1::2", "2001:db8:1::9"), ("198.51.100.1", "192.0.2.1")],
      ["2001:db8:1::1", "198.51.100.1", "2001:db8:1::2"]),
    Case(
      "IPv4 first where the only source of IPv6 is a local one",
      [
        ("2001:db8:1::1", "fd00::9"), ("2001:db8:1::2", "fd00::9"), ("198.51.100.1", "192.0.2.1"),
        ("198.51.100.2", "192.0.2.1"), ("198.51.100.3", "192.0.2.1"),
      ],
      ["198.51.100.1", "2001:db8:1::1", "198.51.100.2", "2001:db8:1::2", "198.51.100.3"]),
    Case(
      "no network leads to IPv6",
      [("2001:db8:1::1", nil), ("198.51.100.1", "192.0.2.1"), ("198.51.100.2", "192.0.2.1")],
      ["198.51.100.1", "198.51.100.2", "2001:db8:1::1"]),
    Case("no network at all", [("198.51.100.1", nil), ("2001:db8:1::1", nil)], ["2001:db8:1::1", "198.51.100.1"]),
    Case("nothing in turn", [], []),
  ]

  @Test(arguments: turns) func theFamiliesTakeTurns(_ test: Case) throws {
    let candidates = try test.given.map {
      DestinationOrder.Candidate(try address($0.destination), from: try $0.source.map { try address($0) })
    }
    let expected = try test.order.map { try address($0) }
    #expect(DestinationOrder.inTurns(candidates).map(\.address) == expected)
  }

  @Test(arguments: [
    ("::1", 50, 0), ("2606:4700::1", 40, 1), ("192.0.2.1", 35, 4), ("::ffff:192.0.2.1", 35, 4), ("2002::1", 30, 2),
    ("2001::1", 5, 5), ("2001:db8::1", 40, 1), ("fd12::1", 3, 13), ("fc00::1", 3, 13), ("::2", 1, 3),
    ("fec0::1", 1, 11), ("feff::1", 1, 11), ("3ffe::1", 1, 12),
  ])
  func policies(_ text: String, precedence: Int, label: Int) throws {
    let policy = AddressTraits(try address(text)).policy
    #expect(policy == AddressTraits.Policy(precedence: precedence, label: label))
  }

  @Test(arguments: [
    ("::1", 2), ("127.0.0.1", 2), ("169.254.1.1", 2), ("10.0.0.1", 14), ("192.0.2.1", 14), ("fe80::1", 2),
    ("febf::1", 2), ("fec0::1", 5), ("fd00::1", 14), ("2001:db8::1", 14), ("ff02::1", 2), ("ff0e::1", 14),
  ])
  func scopes(_ text: String, scope: Int) throws {
    #expect(AddressTraits(try address(text)).scope == scope)
  }

  @Test func theSourceOfLoopbackIsLoopback() {
    let loopback = NetworkAddress([127, 0, 0, 1])
    #expect(SourceAddress.towards(loopback) == loopback)
    #expect(SourceAddress.towards(NetworkAddress([127, 0])) == nil)
  }

  private func address(_ text: String) throws -> NetworkAddress {
    var v4 = in_addr()
    if inet_pton(AF_INET, text, &v4) == 1 { return NetworkAddress(withUnsafeBytes(of: v4) { Array($0) }) }
    var v6 = in6_addr()
    try #require(inet_pton(AF_INET6, text, &v6) == 1)
    return NetworkAddress(withUnsafeBytes(of: v6) { Array($0) })
  }
}
