import ChildProcess
import Foundation

/// gnome-keyring on a message bus of its own, on which nothing else is: no program that could ask the user for a
/// password. Its files are in a temporary folder.
package final class Keyring: Sendable {
  /// For programs that are to use it: `DBUS_SESSION_BUS_ADDRESS`, and folders of its own in the place of the user's.
  package let environment: [String: String]
  private let folder: ServerFolder
  private let bus: ServerProcess
  private let service: ServerProcess?

  private static let busProgram = InstalledServer(program: "dbus-daemon", package: "dbus")
  private static let busClient = InstalledServer(program: "dbus-send", package: "dbus")
  private static let serviceProgram = InstalledServer(program: "gnome-keyring-daemon", package: "gnome-keyring")

  /// Whether a test that needs it should run: it is installed, or its absence must be a failure.
  package static var runsHere: Bool { [busProgram, busClient, serviceProgram].allSatisfy(\.runsHere) }

  /// What a skipped test says.
  package static var advice: String { "gnome-keyring is missing: apt-get install dbus gnome-keyring libsecret-1-0" }

  private init(
    environment: [String: String], folder: ServerFolder, bus: ServerProcess, service: ServerProcess?
  ) {
    self.environment = environment
    self.folder = folder
    self.bus = bus
    self.service = service
  }

  deinit { folder.remove() }

  /// - Parameter isRunning: whether the keyring is on the bus; without it there is the bus alone.
  package static func start(isRunning: Bool = true) async throws -> Keyring {
    let folder = try ServerFolder("keyring")
    do {
      try folder.write(busConfiguration(folder), to: "bus.conf")
      try folder.write("password of the keyring", to: "password")
      _ = try folder.makeFolder("run")
      let environment = [
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=" + folder.file("bus"), "HOME": folder.path,
        "XDG_DATA_HOME": folder.file("data"), "XDG_RUNTIME_DIR": folder.file("run"),
      ]
      let bus = try ServerProcess(
        program: busProgram.path(),
        arguments: ["--config-file=" + folder.file("bus.conf"), "--nofork", "--nopidfile"],
        log: folder.file("bus.log"))
      try await wait(for: "dbus-daemon", folder.file("bus.log"), bus) {
        FileManager.default.fileExists(atPath: folder.file("bus"))
      }
      var service: ServerProcess?
      if isRunning {
        let daemon = try ServerProcess(
          program: "/bin/sh",
          arguments: [
            "-c", "exec \"$0\" --foreground --unlock --components=secrets <\"$1\"", try serviceProgram.path(),
            folder.file("password"),
          ], environment: environment, log: folder.file("service.log"))
        try await wait(for: "gnome-keyring-daemon", folder.file("service.log"), daemon) {
          try await ask(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner",
            "string:org.freedesktop.secrets", environment
          ).contains("boolean true")
        }
        service = daemon
      }
      return Keyring(environment: environment, folder: folder, bus: bus, service: service)
    } catch {
      folder.remove()
      throw error
    }
  }

  /// Locks the collection that secrets go into.
  package func lock() async throws {
    _ = try await Self.ask(
      "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock",
      "array:objpath:/org/freedesktop/secrets/collection/login", environment)
  }

  /// Sends the keyring a signal by name: `STOP` lets it not answer.
  package func signal(_ name: String) { service?.signal(name) }

  /// Returns when the keyring has ended.
  package func waitUntilServiceEnded() async { await service?.waitUntilEnded() }

  /// Ends the message bus alone.
  package func stopBus() async { await bus.stop() }

  package func stop() async {
    service?.signal("CONT")
    await service?.stop()
    await bus.stop()
    folder.remove()
  }

  private static func ask(
    _ service: String, _ path: String, _ method: String, _ argument: String, _ environment: [String: String]
  ) async throws -> String {
    try await ProgramRun.run(
      busClient.path(), ["--session", "--print-reply", "--dest=" + service, path, method, argument],
      environment: environment
    ).output
  }

  /// Another process's readiness can only be polled.
  private static func wait(
    for program: String, _ log: String, _ process: ServerProcess, until isReady: () async throws -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(90)
    while try await !isReady() {
      guard process.isRunning, ContinuousClock.now < deadline else {
        await process.stop()
        throw RealServerError.didNotStart(
          program: program, log: (try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private static func busConfiguration(_ folder: ServerFolder) -> String {
    """
    <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
      "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
    <busconfig>
      <type>session</type>
      <listen>unix:path=\(folder.file("bus"))</listen>
      <auth>EXTERNAL</auth>
      <policy context="default">
        <allow send_destination="*" eavesdrop="true"/>
        <allow eavesdrop="true"/>
        <allow own="*"/>
      </policy>
    </busconfig>

    """
  }
}
