import Foundation

/// The variables that reach the transfer service and the apps that it starts. All others stay with the process that has
/// them: they can hold secrets, name the code that a program loads, or choose what one app trusts.
package enum UserEnvironment {
  /// They name the user, the user's session, and the places of the user and the system.
  private static let variables: Set = [
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY",
    "XAUTHORITY", "DESKTOP_SESSION", "KDE_FULL_SESSION", "DBUS_SESSION_BUS_ADDRESS", "KRB5CCNAME",
    "URLSESSIOND_SOCKET", "URLSESSIOND_PATH", FileSecretStore.variable,
  ]
  private static let families = ["LC_", "XDG_"]

  /// Choices of one program or of one terminal, which the service must not have of the app that starts it.
  private static let choices: Set = ["PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR", "KRB5CCNAME"]

  /// The files in which the system keeps the language that logins begin with.
  package static let localeFiles = ["/etc/locale.conf", "/etc/default/locale"]

  /// Certificate authorities of one app. The messages of its sessions name them for transfers.
  private static let trust: Set = ["SSL_CERT_FILE", "SSL_CERT_DIR"]

  /// They lead to the user's session and to the service, for every program alike.
  private static let session: Set = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "URLSESSIOND_SOCKET"]

  /// How long a value may be in a record.
  private static let longestValue = 4096

  /// The environment of a service that an app starts: what names the user, the user's session and folders, and otherwise
  /// what a login begins with.
  package static func ofService(
    _ environment: [String: String] = ProcessInfo.processInfo.environment, localeFiles: [String] = localeFiles
  ) -> [String: String] {
    environment.filter { isForService($0.key) && !choices.contains($0.key) && !$0.key.hasPrefix("LC_") }
      .merging(loginDefaults(localeFiles)) { $1 }
  }

  private static func loginDefaults(_ localeFiles: [String]) -> [String: String] {
    let language = localeFiles.lazy.compactMap { path -> String? in
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
      let line = text.split(whereSeparator: \.isNewline).last { $0.hasPrefix("LANG=") }
      let value = line?.dropFirst("LANG=".count).filter { $0 != "\"" && $0 != "'" }
      return value?.isEmpty == false ? value : nil
    }.first
    return ["PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": language ?? "C.UTF-8"]
  }

  /// The part of an app's environment that the service keeps, to start the app with it.
  package static func ofApp(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> [String: String] {
    environment.filter {
      (isOfUser($0.key) || trust.contains($0.key)) && $0.value.utf8.count <= longestValue && !$0.value.utf8.contains(0)
    }
  }

  /// The environment for an app that has recorded none: what the system says of the user, and how the user's session is
  /// reached.
  package static func clean(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> [String: String] {
    var clean = environment.filter { session.contains($0.key) }
    clean.merge(loginDefaults(localeFiles)) { $1 }
    clean.merge(UserAccount.variables()) { $1 }
    return clean
  }

  /// Removes what is not for the service from this process's environment, for a service that was started in another way
  /// than by an app: by the user, whose choices stay. Call it before there are threads that read the environment.
  package static func reduceToService() {
    // It says whether the journal reads standard error.
    for name in ProcessInfo.processInfo.environment.keys where !isForService(name) && name != "JOURNAL_STREAM" {
      unsetenv(name)
    }
  }

  private static func isForService(_ name: String) -> Bool {
    #if DEBUG
    // Tests choose waits, failures and a system bus of their own.
    if name.hasPrefix("URLSESSIOND_") || name == "DBUS_SYSTEM_BUS_ADDRESS" { return true }
    #endif
    return isOfUser(name)
  }

  private static func isOfUser(_ name: String) -> Bool {
    guard !name.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == 0 }) else { return false }
    return variables.contains(name) || families.contains { name.hasPrefix($0) }
  }
}
