/// Asks the system's services for the conditions of the machine, over one connection to the bus. Services that do not run
/// are not started. Used by one thread at a time.
final class ConditionsBus: WatchedBus {
  private let bus: SystemBus

  private static let networkManager = SystemBus.Object(
    service: "org.freedesktop.NetworkManager", path: "/org/freedesktop/NetworkManager",
    interface: "org.freedesktop.NetworkManager")
  private static let power = SystemBus.Object(
    service: "org.freedesktop.UPower", path: "/org/freedesktop/UPower", interface: "org.freedesktop.UPower")
  private static let battery = SystemBus.Object(
    service: "org.freedesktop.UPower", path: "/org/freedesktop/UPower/devices/DisplayDevice",
    interface: "org.freedesktop.UPower.Device")
  private static let logins = SystemBus.Object(
    service: "org.freedesktop.login1", path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager")

  /// nil where there is no bus.
  init?(address: String?) {
    guard let bus = SystemBus(address: address) else { return nil }
    self.bus = bus
  }

  /// Readable when the bus has something to tell.
  var descriptor: Int32 { bus.descriptor }

  /// Asks the bus to tell of changes.
  func subscribe() {
    for object in [Self.networkManager, Self.power, Self.battery, Self.logins] {
      bus.addMatch(
        "type='signal',sender='\(object.service)',path='\(object.path)',"
          + "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',arg0='\(object.interface)'")
    }
    for service in [Self.networkManager, Self.power, Self.logins].map(\.service) {
      bus.addMatch(
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
          + "member='NameOwnerChanged',arg0='\(service)'")
    }
  }

  /// Takes what the bus has told. nil when the connection is gone; else whether there was anything.
  func drain() -> Bool? { bus.drain() }

  func read() -> MachineConditions {
    var conditions = MachineConditions()
    // NMConnectivityState: 0 unknown, 1 none, 2 a portal, 3 limited, 4 full.
    if let state = try? bus.number("Connectivity", of: Self.networkManager) {
      conditions.isConnected = state == 0 ? nil : state > 2
    }
    if let metered = try? bus.number("Metered", of: Self.networkManager) {
      var facts = NetworkFacts()
      // A tunnel costs what is below it, which is what the manager tells of.
      facts.isTunnel = true
      facts.primary = .init(
        type: (try? bus.text("PrimaryConnectionType", of: Self.networkManager)) ?? "",
        metered: NetworkFacts.Metered(rawValue: metered) ?? .unknown)
      conditions.network = facts.traits
    }
    conditions.isOnBattery = try? bus.flag("OnBattery", of: Self.power)
    // UpDeviceLevel: 3 low, 4 critical, 5 the machine is about to be put to sleep.
    conditions.isBatteryLow = (try? bus.number("WarningLevel", of: Self.battery)).map { $0 >= 3 }
    conditions.isUserIdle = try? bus.flag("IdleHint", of: Self.logins)
    return conditions
  }
}
