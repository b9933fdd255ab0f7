import Foundation

/// The program of a desktop that asks the user for the password of the keyring (gcr's prompter), with a user who does not
/// type it.
package final class KeyringPrompter: Sendable {
  package enum User: String, Sendable {
    /// Closes each question at once.
    case dismisses
    /// Is not there: the question stays open.
    case staysAway
  }

  private let folder: ServerFolder
  private let process: ServerProcess

  /// Debian's interpreter, which its packages are for.
  private static let interpreter = InstalledServer(program: "/usr/bin/python3", package: "python3")

  /// Whether a test that needs it should run: it is installed, or its absence must be a failure.
  package static var runsHere: Bool {
    let packages = "/usr/lib/python3/dist-packages/"
    return ["dbus", "gi"].allSatisfy { FileManager.default.fileExists(atPath: packages + $0) }
      || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty
  }

  /// What a skipped test says.
  package static var advice: String { "a prompter can't be played: apt-get install python3-dbus python3-gi" }

  private init(folder: ServerFolder, process: ServerProcess) {
    self.folder = folder
    self.process = process
  }

  deinit { folder.remove() }

  /// Starts it on the bus of a keyring.
  package static func start(for keyring: Keyring, user: User) async throws -> KeyringPrompter {
    let folder = try ServerFolder("prompter")
    do {
      try folder.write(script, to: "prompter.py")
      let process = try ServerProcess(
        program: interpreter.path(),
        arguments: [
          "-u", folder.file("prompter.py"), keyring.environment["DBUS_SESSION_BUS_ADDRESS"] ?? "", user.rawValue,
        ], log: folder.file("output.log"))
      let deadline = ContinuousClock.now + .seconds(90)
      while !folder.text(of: "output.log").contains("ready\n") {
        guard process.isRunning, ContinuousClock.now < deadline else {
          await process.stop()
          throw RealServerError.didNotStart(program: "the prompter", log: folder.text(of: "output.log"))
        }
        // Another process's readiness can only be polled.
        try await Task.sleep(for: .milliseconds(10))
      }
      return KeyringPrompter(folder: folder, process: process)
    } catch {
      folder.remove()
      throw error
    }
  }

  /// How many questions the user has seen.
  package var questions: Int { folder.text(of: "output.log").components(separatedBy: "question\n").count - 1 }

  package func stop() async {
    await process.stop()
    folder.remove()
  }

  private static let script = """
    import sys
    import dbus, dbus.bus, dbus.mainloop.glib, dbus.service
    from gi.repository import GLib

    address, user = sys.argv[1:]
    interface = "org.gnome.keyring.internal.Prompter"
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    connection = dbus.bus.BusConnection(address)

    def call(client, path, method, *arguments):
        callback = connection.get_object(client, path, introspect=False)
        callback.get_dbus_method(method, interface + ".Callback")(
            *arguments, reply_handler=lambda *ignored: None, error_handler=lambda error: print(error))

    def ready(client, path, answer):
        call(client, path, "PromptReady", answer, dbus.Dictionary({}, signature="sv"), "")

    class Prompter(dbus.service.Object):
        @dbus.service.method(interface, in_signature="o", sender_keyword="client")
        def BeginPrompting(self, path, client):
            GLib.idle_add(ready, client, path, "")

        @dbus.service.method(interface, in_signature="osa{sv}s", sender_keyword="client")
        def PerformPrompt(self, path, kind, properties, exchange, client):
            print("question")
            if user == "dismisses":
                GLib.idle_add(ready, client, path, "no")

        @dbus.service.method(interface, in_signature="o", sender_keyword="client")
        def StopPrompting(self, path, client):
            GLib.idle_add(call, client, path, "PromptDone")

    prompter = Prompter(connection, "/org/gnome/keyring/Prompter")
    name = dbus.service.BusName("org.gnome.keyring.SystemPrompter", connection)
    print("ready")
    GLib.MainLoop().run()

    """
}
