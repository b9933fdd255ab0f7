import Foundation
import Testing

@testable import SystemServices

@Suite struct NameSourcesTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var switches: String? = "hosts: files dns\n"
    var resolver: String? = "nameserver 192.0.2.1\n"
    var options: String?
    let way: NameSources.Way
  }

  static let cases: [Case] = [
    Case(testDescription: "a name server", way: .servers(.udp)),
    Case(testDescription: "no nsswitch.conf", switches: nil, way: .servers(.udp)),
    Case(testDescription: "no line of hosts", switches: "passwd: files\n# hosts: nis\n", way: .servers(.udp)),
    Case(testDescription: "no resolv.conf", resolver: nil, way: .servers(.unknown)),
    Case(testDescription: "no server", resolver: "search example\nnameserver\n", way: .servers(.unknown)),
    Case(
      testDescription: "always over TCP", resolver: "options ndots:1 use-vc\nnameserver 2001:db8::1\n",
      way: .servers(.tcp)),
    Case(testDescription: "always over TCP for this process", options: "use-vc", way: .servers(.tcp)),
    Case(testDescription: "another option", resolver: "nameserver 192.0.2.1\noptions edns0\n", way: .servers(.udp)),
    Case(testDescription: "a forwarder of this machine", resolver: "nameserver 127.0.0.1\n", way: .servers(.unknown)),
    Case(
      testDescription: "a forwarder of the container", resolver: "nameserver 127.0.0.11\noptions ndots:0\n",
      way: .servers(.unknown)),
    Case(
      testDescription: "a forwarder that is never asked",
      resolver: "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 127.0.0.1\n",
      way: .servers(.udp)),
    Case(testDescription: "the stub", resolver: "nameserver 127.0.0.53\noptions edns0 trust-ad\n", way: .resolved),
    Case(
      testDescription: "Debian with avahi", switches: "hosts:  files mdns4_minimal [NOTFOUND=return] dns\n",
      way: .servers(.udp)),
    Case(
      testDescription: "Fedora", switches: "hosts: files myhostname resolve [!UNAVAIL=return] dns\n", way: .resolved),
    Case(
      testDescription: "Arch", switches: "hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns\n",
      way: .resolved),
    Case(
      testDescription: "an action in several words", switches: "hosts:files [ SUCCESS=return NOTFOUND=continue ] dns",
      way: .servers(.udp)),
    Case(testDescription: "a directory first", switches: "hosts: files ldap dns\n", way: .unknown),
    Case(testDescription: "a directory after the DNS", switches: "hosts: files dns ldap\n", way: .servers(.udp)),
    Case(testDescription: "multicast for all names", switches: "hosts: files mdns4 dns\n", way: .unknown),
    Case(testDescription: "no DNS", switches: "hosts: files\n", way: .unknown),
    Case(testDescription: "nothing", switches: "hosts:\n", way: .unknown),
  ]

  @Test(arguments: cases) func theWayIsThatOfTheFiles(_ row: Case) {
    let sources = NameSources(
      switches: row.switches, resolver: row.resolver, options: row.options, hosts: "", ownName: "machine")
    #expect(sources.way(of: "www.example.com") == row.way)
  }

  @Test(arguments: [
    ("www.example.com", true), ("WWW.example.com.", true), ("listed.example", false), ("LISTED.example.", false),
    ("second.example", false), ("commented.example", true), ("machine.example", false), ("printer", false),
    ("printer.local", false), ("a.localhost", false), ("192.0.2.1", false), ("2001:db8::1", false), ("", false),
    (".", false), ("a..example", false), (".example", false),
  ])
  func namesThatMayBeElsewhereAreLeftOut(_ host: String, _ isOfTheDNS: Bool) {
    let hosts = "127.0.0.1 localhost\n192.0.2.7\tListed.example second.example. # commented.example\n"
    let sources = NameSources(
      switches: nil, resolver: "nameserver 192.0.2.1", options: nil, hosts: hosts, ownName: "Machine.example")
    #expect(sources.way(of: host) == (isOfTheDNS ? .servers(.udp) : .unknown))
  }

  @Test func nothingIsKnownBesideATableThatIsTooLong() {
    let sources = NameSources(
      switches: nil, resolver: "nameserver 192.0.2.1", options: nil, hosts: nil, ownName: "machine")
    #expect(sources.way(of: "www.example.com") == .unknown)
  }

  @Test func filesAreReadAgainWhenTheyChange() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sources-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func write(_ text: String, _ name: String) throws {
      try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }
    let sources = SystemNameSources(folder: folder)
    #expect(sources.current().way(of: "a.example") == .servers(.unknown))
    try write("nameserver 127.0.0.53\n", "resolv.conf")
    #expect(sources.current().way(of: "a.example") == .resolved)
    #expect(sources.current().way(of: "a.example") == .resolved)
    try write("192.0.2.1 a.example\n", "hosts")
    #expect(sources.current().way(of: "a.example") == .unknown)
    #expect(sources.current().way(of: "b.example") == .resolved)
    try write(String(repeating: "#", count: SystemNameSources.longestFile + 1), "hosts")
    #expect(sources.current().way(of: "b.example") == .unknown)
    try write("hosts: dns\n", "nsswitch.conf")
    try write("", "hosts")
    try write("nameserver 192.0.2.1\n", "resolv.conf")
    #expect(sources.current().way(of: "a.example") == .servers(.udp))
  }
}
