import Foundation

/// A service of the system as programs see it over D-Bus, on a message bus of its own, by Debian's python-dbusmock.
package final class MessageBusMock: Sendable {
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
  package static var runsHere: Bool {
    isInstalled || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty
  }

  /// What a skipped test says.
  package static var advice: String { "python-dbusmock is missing: apt-get install \(bus.package) \(packageName)" }

  /// - Parameter settings: what `script` finds in `settings`.
  /// - Parameter script: Python that makes the service; `connection` is one to the bus, `run` starts dbusmock, `object`
  ///   waits for an object.
  static func start(_ name: String, settings: some Encodable, script: String) async throws -> MessageBusMock {
    guard isInstalled else { throw RealServerError.notInstalled(package: packageName) }
    let folder = try ServerFolder(name)
    do {
      try folder.write(String(decoding: try JSONEncoder().encode(settings), as: UTF8.self), to: "settings.json")
      try folder.write(beginning + script + end, to: "mock.py")
      let process = try ServerProcess(
        program: interpreter.path(),
        arguments: [
          "-u", folder.file("mock.py"), try bus.path(), folder.file("bus"), folder.file("settings.json"),
        ], log: folder.file("output.log"))
      let deadline = ContinuousClock.now + .seconds(90)
      while !folder.text(of: "output.log").contains("ready\n") {
        guard process.isRunning, ContinuousClock.now < deadline else {
          await process.stop()
          throw RealServerError.didNotStart(program: "python-dbusmock", log: folder.text(of: "output.log"))
        }
        // Another process's readiness can only be polled.
        try await Task.sleep(for: .milliseconds(10))
      }
      return MessageBusMock("unix:path=" + folder.file("bus"), folder, process)
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

  /// All that the service has printed.
  package var log: String { folder.text(of: "output.log") }

  package func stop() async {
    await process.stop()
    folder.remove()
  }

  private static let beginning = """
    import json, os, subprocess, sys, time

    program, path, file = sys.argv[1:]
    address = "unix:path=" + path
    bus = subprocess.Popen(
        [program, "--session", "--nofork", "--nopidfile", "--address=" + address, "--print-address=1"],
        stdout=subprocess.PIPE)
    bus.stdout.readline()
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = address
    import dbus
    connection = dbus.bus.BusConnection(address)
    with open(file) as file:
        settings = json.load(file)
    mocking = "org.freedesktop.DBus.Mock"

    def run(*arguments):
        return subprocess.Popen([sys.executable, "-m", "dbusmock", *arguments])

    def object(service, path):
        while True:
            try:
                proxy = connection.get_object(service, path)
                proxy.Introspect(dbus_interface="org.freedesktop.DBus.Introspectable")
                return proxy
            except dbus.DBusException:
                time.sleep(0.01)


    """

  private static let end = """

    print("ready", flush=True)
    mock.wait()

    """
}
