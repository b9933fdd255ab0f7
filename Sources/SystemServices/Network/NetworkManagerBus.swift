/// Asks NetworkManager over D-Bus what it knows about interfaces. Where it does not run it is not started.
package struct NetworkManagerBus: Sendable {
  private let address: String?

  /// - Parameter address: where the message bus listens; nil for the system's.
  package init(address: String? = nil) { self.address = address }

  private static let service = "org.freedesktop.NetworkManager"
  private static let manager = SystemBus.Object(
    service: service, path: "/org/freedesktop/NetworkManager", interface: service)

  /// Adds what NetworkManager says about the interface `name`; nothing when it says nothing within a second.
  package func describe(_ name: String, _ facts: inout NetworkFacts) {
    guard let bus = SystemBus(address: address) else { return }
    let manager = NetworkManagerBus.manager
    if let path = try? bus.path(manager, "GetDeviceByIpIface", name) {
      let device = SystemBus.Object(
        service: manager.service, path: path, interface: NetworkManagerBus.service + ".Device")
      if let type = try? bus.number("DeviceType", of: device) {
        facts.managed = .init(type: type, metered: metered(try? bus.number("Metered", of: device)))
      }
    }
    guard facts.isTunnel || facts.managed?.isTunnel == true,
      let type = try? bus.text("PrimaryConnectionType", of: manager)
    else { return }
    facts.primary = .init(type: type, metered: metered(try? bus.number("Metered", of: manager)))
  }

  private func metered(_ number: UInt32?) -> NetworkFacts.Metered {
    number.flatMap { NetworkFacts.Metered(rawValue: $0) } ?? .unknown
  }
}
