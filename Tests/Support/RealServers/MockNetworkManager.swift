import Foundation

/// NetworkManager as programs see it over D-Bus, on a message bus of its own, by Debian's python-dbusmock.
package final class MockNetworkManager: Sendable {
  /// An interface that it knows. Numbers are those of `NMDeviceType` and `NMMetered`.
  package struct Device: Codable, Sendable {
    package let interface: String
    package let type: UInt32
    package let metered: UInt32

    package init(_ interface: String, type: UInt32, metered: UInt32 = 0) {
      self.interface = interface
      self.type = type
      self.metered = metered
    }
  }

  private struct Settings: Codable {
    let devices: [Device]
    let primaryType: String
    let metered: UInt32
  }

  /// Where the message bus listens, for `DBUS_SYSTEM_BUS_ADDRESS`.
  package let address: String
  private let folder: ServerFolder
  private let process: ServerProcess

  private static let bus = InstalledServer(program: "dbus-daemon", package: "dbus")
  /// Debian's interpreter, which its packages are for: another one may come first in `PATH`.
  private static let interpreter = InstalledServer(program: "/usr/bin/python3", package: "python3")
  private static let packageName = "python3-dbusmock"

  private static var isInstalled: Bool {
    bus.isInstalled && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/dbusmock")
  }

  /// Whether a test that needs it should run: it is installed, or its absence must be a failure.
  package static var runsHere: Bool { isInstalled || isDemanded }

  private static var isDemanded: Bool { !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty }

  /// What a skipped test says.
  package static var advice: String { "python-dbusmock is missing: apt-get install \(bus.package) \(packageName)" }

  /// - Parameter primaryType: the type of the connection below all tunnels, and whether that is metered.
  package static func start(
    _ devices: [Device], primaryType: String = "802-3-ethernet", metered: UInt32 = 0
  ) async throws -> MockNetworkManager {
    guard isInstalled else { throw RealServerError.notInstalled(package: packageName) }
    let folder = try ServerFolder("network-manager")
    do {
      let settings = Settings(devices: devices, primaryType: primaryType, metered: metered)
      try folder.write(String(decoding: try JSONEncoder().encode(settings), as: UTF8.self), to: "settings.json")
      try folder.write(script, to: "mock.py")
      let process = try ServerProcess(
        program: interpreter.path(),
        arguments: [
          "-u", folder.file("mock.py"), try bus.path(), folder.file("bus"), folder.file("settings.json"),
        ], log: folder.file("output.log"))
      let deadline = ContinuousClock.now + .seconds(30)
      while !folder.text(of: "output.log").contains("ready\n") {
        guard process.isRunning, ContinuousClock.now < deadline else {
          await process.stop()
          throw RealServerError.didNotStart(program: "python-dbusmock", log: folder.text(of: "output.log"))
        }
        // Another process's readiness can only be polled.
        try await Task.sleep(for: .milliseconds(10))
      }
      return MockNetworkManager("unix:path=" + folder.file("bus"), folder, process)
    } catch {
      folder.remove()
      throw error
    }
  }

  private init(_ address: String, _ folder: ServerFolder, _ process: ServerProcess) {
    self.address = address
    self.folder = folder
    self.process = process
  }

  deinit { folder.remove() }

  package func stop() async {
    await process.stop()
    folder.remove()
  }

  private static let script = """
    import json, os, subprocess, sys, time

    program, path, settings = sys.argv[1:]
    address = "unix:path=" + path
    bus = subprocess.Popen(
        [program, "--session", "--nofork", "--nopidfile", "--address=" + address, "--print-address=1"],
        stdout=subprocess.PIPE)
    bus.stdout.readline()
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = address
    import dbus
    mock = subprocess.Popen([sys.executable, "-m", "dbusmock", "--template", "networkmanager"])
    connection = dbus.bus.BusConnection(address)
    service = "org.freedesktop.NetworkManager"
    root = "/org/freedesktop/NetworkManager"
    manager = None
    while manager is None:
        try:
            manager = connection.get_object(service, root)
            manager.Get(service, "Devices", dbus_interface="org.freedesktop.DBus.Properties")
        except dbus.DBusException:
            manager = None
            time.sleep(0.01)
    mocking = "org.freedesktop.DBus.Mock"
    with open(settings) as file:
        wanted = json.load(file)
    manager.AddProperties(
        service,
        {"PrimaryConnectionType": wanted["primaryType"], "Metered": dbus.UInt32(wanted["metered"])},
        dbus_interface=mocking)
    for device in wanted["devices"]:
        name = device["interface"]
        path = connection.get_object(service, root).AddEthernetDevice(name, name, 100, dbus_interface=mocking)
        proxy = connection.get_object(service, path)
        kind = service + ".Device"
        proxy.AddProperty(kind, "Metered", dbus.UInt32(device["metered"]), dbus_interface=mocking)
        proxy.Set(kind, "DeviceType", dbus.UInt32(device["type"]), dbus_interface="org.freedesktop.DBus.Properties")
    print("ready", flush=True)
    mock.wait()

    """
}
