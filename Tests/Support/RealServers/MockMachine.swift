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

  private static func tell(_ script: String, _ words: [String], _ mock: MessageBusMock) async throws {
    let beginning = """
      import dbus, sys, time
      bus = dbus.bus.BusConnection(sys.argv[1])
      name, path = "org.freedesktop.login1", "/org/freedesktop/login1"
      manager = bus.get_object(name, path)

      """
    let run = try await ProgramRun.run("/usr/bin/python3", ["-c", beginning + script, mock.address] + words)
    if run.status != 0 { throw RealServerError.didNotStart(program: "python3", log: run.errors) }
  }

  /// logind tells that the machine is about to sleep, or has woken.
  package static func tellSleep(_ falls: Bool, _ mock: MessageBusMock) async throws {
    let script = """
      manager.EmitSignal(
          name + ".Manager", "PrepareForSleep", "b", [dbus.Boolean(sys.argv[2] == "True")],
          dbus_interface="org.freedesktop.DBus.Mock")
      """
    try await tell(script, [falls ? "True" : "False"], mock)
  }

  /// A process that is not logind tells every connection that the machine is about to sleep.
  package static func tellSleepAsAnother(_ mock: MessageBusMock) async throws {
    let script = """
      for other in bus.list_names():
          if other.startswith(":"):
              signal = dbus.lowlevel.SignalMessage(path, name + ".Manager", "PrepareForSleep")
              signal.set_destination(other)
              signal.append(dbus.Boolean(True), signature="b")
              bus.send_message(signal)
      bus.flush()
      """
    try await tell("import dbus.lowlevel\n" + script, [], mock)
  }

  /// Waits until this service has so many locks that put off the sleep of the machine.
  package static func awaitSleepLocks(_ count: Int, _ mock: MessageBusMock) async throws {
    let script = """
      deadline = time.monotonic() + 90
      while True:
          locks = manager.ListInhibitors(dbus_interface=name + ".Manager")
          ours = [lock for lock in locks if tuple(lock[:2]) == ("sleep", "urlsessiond") and lock[3] == "delay"]
          if len(ours) == int(sys.argv[2]):
              break
          if time.monotonic() > deadline:
              sys.exit(f"there are {len(ours)} locks")
          time.sleep(0.01)
      """
    try await tell(script, ["\(count)"], mock)
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
