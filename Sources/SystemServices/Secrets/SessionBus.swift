import Foundation

/// The message bus of the user's session.
enum SessionBus {
  /// Whether there is one to connect to. GLib, asked to connect without one, would try to start one.
  static func exists(environment: [String: String] = ProcessInfo.processInfo.environment) -> Bool {
    if let address = environment["DBUS_SESSION_BUS_ADDRESS"] { return !address.isEmpty }
    guard let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return false }
    var status = stat()
    return stat(folder + "/bus", &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }
}
