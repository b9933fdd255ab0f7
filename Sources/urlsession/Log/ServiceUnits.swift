import Foundation

/// The units of the service that systemd finds for a user (systemd.unit(5)).
enum ServiceUnits {
  /// The first file of that name; nil where there is none.
  static func file(
    _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> String? {
    folders(environment).map { "\($0)/\(name)" }.first { FileManager.default.fileExists(atPath: $0) }
  }

  /// In the order in which systemd looks through them.
  static func folders(_ environment: [String: String]) -> [String] {
    let home = environment["HOME"] ?? NSHomeDirectory()
    let configuration = environment["XDG_CONFIG_HOME"] ?? home + "/.config"
    let data = environment["XDG_DATA_HOME"] ?? home + "/.local/share"
    return [
      configuration + "/systemd/user", "/etc/systemd/user", data + "/systemd/user", "/usr/local/lib/systemd/user",
      "/usr/lib/systemd/user",
    ]
  }

  /// Whether the user's manager starts it by itself: `systemctl --user enable` makes these links.
  static func isEnabled(
    _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Bool {
    folders(environment).contains { folder in
      let entries = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return entries.contains { $0.hasSuffix(".wants") && isLink("\(folder)/\($0)/\(name)") }
    }
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }
}
