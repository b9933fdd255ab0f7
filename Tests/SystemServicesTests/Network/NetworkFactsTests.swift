import Foundation
import RealServers
import Testing

@testable import SystemServices

/// What a network is, from what the kernel and NetworkManager say.
@Suite struct NetworkFactsTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let traits: NetworkTraits
    let facts: NetworkFacts

    init(
      _ description: String, _ traits: NetworkTraits, deviceType: String? = nil, isTunnel: Bool = false,
      managed: (type: UInt32, metered: NetworkFacts.Metered)? = nil,
      primary: (type: String, metered: NetworkFacts.Metered)? = nil
    ) {
      testDescription = description
      self.traits = traits
      var facts = NetworkFacts()
      facts.deviceType = deviceType
      facts.isTunnel = isTunnel
      facts.managed = managed.map { .init(type: $0.type, metered: $0.metered) }
      facts.primary = primary.map { .init(type: $0.type, metered: $0.metered) }
      self.facts = facts
    }
  }

  static let cases = [
    // Without NetworkManager: what the kernel calls a modem is one, and costs.
    Case("an Ethernet card", []),
    Case("a wireless card", [], deviceType: "wlan"),
    Case("a modem", [.cellular, .expensive], deviceType: "wwan"),
    Case("a tunnel over who knows what", [], isTunnel: true),
    // With it: 1 is Ethernet, 2 Wi-Fi, 8 a modem, 16 and 29 are tunnels.
    Case("metered is unknown", [], managed: (1, .unknown)),
    Case("called metered by the user", [.expensive, .constrained], deviceType: "wlan", managed: (2, .yes)),
    Case("believed to be metered, as a telephone's hotspot", .expensive, deviceType: "wlan", managed: (2, .guessYes)),
    Case("believed to be free", [], managed: (2, .guessNo)),
    Case("called free by the user", [], managed: (2, .no)),
    Case("a modem that NetworkManager knows by its port", [.cellular, .expensive], managed: (8, .unknown)),
    Case("a modem, believed to cost", [.cellular, .expensive], deviceType: "wwan", managed: (8, .guessYes)),
    Case("a modem, called metered", [.cellular, .expensive, .constrained], managed: (8, .yes)),
    Case("a modem with a flat rate", .cellular, deviceType: "wwan", managed: (8, .no)),
    // A tunnel costs what is below it.
    Case(
      "a tunnel over a modem", [.cellular, .expensive], managed: (29, .guessNo), primary: ("gsm", .guessYes)),
    Case(
      "a tunnel over a modem of no known price", [.cellular, .expensive], isTunnel: true, primary: ("cdma", .unknown)),
    Case(
      "a tunnel over a metered network", [.expensive, .constrained], managed: (16, .unknown),
      primary: ("802-11-wireless", .yes)),
    Case("a tunnel called free", [], managed: (16, .no), primary: ("802-11-wireless", .yes)),
    Case("not a tunnel", [], managed: (1, .no), primary: ("gsm", .yes)),
  ]

  @Test(arguments: cases) func traitsFollowFromFacts(_ test: Case) { #expect(test.facts.traits == test.traits) }

  // MARK: The kernel

  @Test func theKernelsFolderOfAnInterfaceIsRead() throws {
    let classes = NSTemporaryDirectory() + "networks-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: classes) }
    let files = [
      ("wwan0", "uevent", "DEVTYPE=wwan\nINTERFACE=wwan0\nIFINDEX=7\n"), ("eth0", "uevent", "INTERFACE=eth0\n"),
      ("tun0", "uevent", "INTERFACE=tun0\n"), ("tun0", "tun_flags", "0x1001\n"),
      ("wg0", "uevent", "DEVTYPE=wireguard\n"),
    ]
    for (interface, file, text) in files {
      let folder = classes + "/" + interface
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + file))
    }
    let networks = SystemNetworks(classes: classes, manager: nil)
    #expect(networks.facts(about: "wwan0").deviceType == "wwan")
    #expect(networks.facts(about: "wwan0").traits == [.cellular, .expensive])
    #expect(networks.facts(about: "eth0") == NetworkFacts())
    #expect(networks.facts(about: "tun0").isTunnel && networks.facts(about: "wg0").isTunnel)
    #expect(networks.facts(about: "gone") == NetworkFacts())
    #expect(networks.facts(about: "../networks") == NetworkFacts())
  }

  @Test(arguments: [[127, 0, 0, 1], [127, 9, 9, 9], [UInt8](repeating: 0, count: 15) + [1]] as [[UInt8]])
  func loopbackIsNeverRestricted(_ address: [UInt8]) {
    let networks = SystemNetworks(manager: nil)
    #expect(networks.traits(towards: NetworkAddress(address), from: nil) ?? [] == [])
  }

  @Test func invalidAddressHasNoInterface() {
    #expect(NetworkInterface.way(to: NetworkAddress([1, 2, 3])) == .none)
    #expect(
      NetworkInterface.way(to: NetworkAddress([UInt8](repeating: 0xfe, count: 16), interface: 9))
        == .interface(NetworkInterface(index: 9)))
  }

  // MARK: NetworkManager

  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func networkManagerIsAsked() async throws {
    let manager = try await MockNetworkManager.start(
      [
        .init("wlan7", type: 2, metered: 1), .init("wlan8", type: 2, metered: 3), .init("eth7", type: 1, metered: 4),
        .init("ttyUSB7", type: 8), .init("tun7", type: 16, metered: 9),
      ], primaryType: "gsm", metered: 3)
    let networks = SystemNetworks(classes: "/nowhere", manager: NetworkManagerBus(address: manager.address))
    #expect(networks.facts(about: "wlan7").managed == .init(type: 2, metered: .yes))
    #expect(networks.facts(about: "wlan7").traits == [.expensive, .constrained])
    #expect(networks.facts(about: "wlan8").traits == .expensive)
    #expect(networks.facts(about: "eth7").managed == .init(type: 1, metered: .guessNo))
    #expect(networks.facts(about: "eth7").primary == nil)
    #expect(networks.facts(about: "ttyUSB7").traits == [.cellular, .expensive])
    // A number of a later version means nothing yet.
    #expect(networks.facts(about: "tun7").managed == .init(type: 16, metered: .unknown))
    #expect(networks.facts(about: "tun7").primary == .init(type: "gsm", metered: .guessYes))
    #expect(networks.facts(about: "unknown7") == NetworkFacts())
    await manager.stop()
    #expect(networks.facts(about: "wlan7") == NetworkFacts())
  }

  @Test func withoutAMessageBusNothingIsKnown() {
    let networks = SystemNetworks(classes: "/nowhere", manager: NetworkManagerBus(address: "unix:path=/nowhere/bus"))
    #expect(networks.facts(about: "wlan7") == NetworkFacts())
  }

}
