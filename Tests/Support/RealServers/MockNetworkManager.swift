/// NetworkManager as programs see it.
package enum MockNetworkManager {
  /// An interface that it knows. Numbers are those of `NMDeviceType` and `NMMetered`.
  package struct Device: Encodable, Sendable {
    let interface: String
    let type: UInt32
    let metered: UInt32

    package init(_ interface: String, type: UInt32, metered: UInt32 = 0) {
      self.interface = interface
      self.type = type
      self.metered = metered
    }
  }

  private struct Settings: Encodable {
    let devices: [Device]
    let primaryType: String
    let metered: UInt32
  }

  /// - Parameter primaryType: the type of the connection below all tunnels, and whether that is metered.
  package static func start(
    _ devices: [Device], primaryType: String = "802-3-ethernet", metered: UInt32 = 0
  ) async throws -> MessageBusMock {
    try await MessageBusMock.start(
      "network-manager", settings: Settings(devices: devices, primaryType: primaryType, metered: metered),
      script: script)
  }

  private static let script = """
    service = "org.freedesktop.NetworkManager"
    mock = run("--template", "networkmanager")
    manager = object(service, "/org/freedesktop/NetworkManager")
    manager.AddProperties(
        service,
        {"PrimaryConnectionType": settings["primaryType"], "Metered": dbus.UInt32(settings["metered"])},
        dbus_interface=mocking)
    for device in settings["devices"]:
        name = device["interface"]
        proxy = connection.get_object(service, manager.AddEthernetDevice(name, name, 100, dbus_interface=mocking))
        kind = service + ".Device"
        proxy.AddProperty(kind, "Metered", dbus.UInt32(device["metered"]), dbus_interface=mocking)
        proxy.Set(kind, "DeviceType", dbus.UInt32(device["type"]), dbus_interface="org.freedesktop.DBus.Properties")

    """
}
