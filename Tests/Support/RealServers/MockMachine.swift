import ChildProcess

/// NetworkManager, UPower and logind as programs see them: a machine on power, with a network that costs nothing.
package enum MockMachine {
  package enum Change: String, Sendable {
    case hasPower = "UPower OnBattery False"
    case isOnBattery = "UPower OnBattery True"
    case isMetered = "NetworkManager Metered dbus.UInt32(1)"
    case isNotMetered = "NetworkManager Metered dbus.UInt32(2)"
  }

  /// Returns when the services have told of it.
  package static func make(_ change: Change, _ mock: MessageBusMock) async throws {
    let script = """
      import dbus, sys
      name, property, value = sys.argv[2].split()
      service = "org.freedesktop." + name
      proxy = dbus.bus.BusConnection(sys.argv[1]).get_object(service, "/org/freedesktop/" + name)
      proxy.UpdateProperties(service, {property: eval(value)}, dbus_interface="org.freedesktop.DBus.Mock")
      """
    let run = try await ProgramRun.run("/usr/bin/python3", ["-c", script, mock.address, change.rawValue])
    if run.status != 0 { throw RealServerError.didNotStart(program: "python3", log: run.errors) }
  }

  package static func start() async throws -> MessageBusMock {
    try await MessageBusMock.start("machine", settings: [String](), script: script)
  }

  private static let script = """
    network = run("--template", "networkmanager")
    logins = run("--template", "logind")
    mock = run("--template", "upower")
    name = "org.freedesktop.NetworkManager"
    object(name, "/org/freedesktop/NetworkManager").AddProperties(
        name,
        {"PrimaryConnectionType": "gsm", "Metered": dbus.UInt32(4)},
        dbus_interface=mocking)
    object("org.freedesktop.login1", "/org/freedesktop/login1").UpdateProperties(
        "org.freedesktop.login1.Manager", {"IdleHint": True}, dbus_interface=mocking)
    object("org.freedesktop.UPower", "/org/freedesktop/UPower/devices/DisplayDevice").UpdateProperties(
        "org.freedesktop.UPower.Device", {"WarningLevel": dbus.UInt32(3)}, dbus_interface=mocking)

    """
}
