import Foundation

/// The folders in which this user's programs keep things: the XDG Base Directory Specification, with its defaults.
package struct UserDirectories: Sendable, Equatable {
  /// Files that have to survive: `$XDG_STATE_HOME`, else `~/.local/state`.
  package var state: String
  /// Files that may be deleted: `$XDG_CACHE_HOME`, else `~/.cache`.
  package var cache: String
  /// Sockets and locks: `$XDG_RUNTIME_DIR`; else `/run/user/UID` when it is ours; else a folder
  /// `urlsessiond-UID` in `$TMPDIR` or `/tmp`, made with mode 0700; else, where another user has made that, a folder
  /// `urlsessiond-runtime` in `state`.
  package var runtime: String

  package init(state: String, cache: String, runtime: String) {
    self.state = state
    self.cache = cache
    self.runtime = runtime
  }

  /// Reads the environment. Refuses a `$XDG_RUNTIME_DIR` in which other users may rename folders. May make the folder of the last resort.
  package init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    let home = UserDirectories.home(environment)
    state =
      UserDirectories.absolute(environment["XDG_STATE_HOME"]) ?? UserDirectories.usualState(environment: environment)
    cache = UserDirectories.absolute(environment["XDG_CACHE_HOME"]) ?? home + "/.cache"
    runtime = try UserDirectories.runtime(environment)
  }

  /// Files that belong to the user, such as what apps keep: `$XDG_DATA_HOME`, else `~/.local/share`.
  package static func data(
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> String { absolute(environment["XDG_DATA_HOME"]) ?? home(environment) + "/.local/share" }

  /// The folder of `state` where `$XDG_STATE_HOME` names no other.
  package static func usualState(
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> String { home(environment) + "/.local/state" }

  static func runtime(_ environment: [String: String], system: String = "/run/user") throws -> String {
    if let runtime = absolute(environment["XDG_RUNTIME_DIR"]) {
      try PrivateDirectory.checkParent(runtime)
      return runtime
    }
    let usual = "\(system)/\(geteuid())"
    if (try? PrivateDirectory.check(usual)) != nil { return usual }
    let temporary = absolute(environment["TMPDIR"]) ?? "/tmp"
    let own = "\(temporary)/urlsessiond-\(geteuid())"
    do {
      try PrivateDirectory.ensure(own)
      return own
    } catch is PrivateDirectory.Refusal {
      let state = absolute(environment["XDG_STATE_HOME"]) ?? usualState(environment: environment)
      let last = "\(state)/urlsessiond-runtime"
      try PrivateDirectory.ensure(last)
      return last
    }
  }

  /// "All paths set in these environment variables must be absolute. If an implementation encounters a relative path
  /// in any of these variables it should consider the path invalid and ignore it."
  private static func absolute(_ path: String?) -> String? {
    guard var path, path.hasPrefix("/") else { return nil }
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }

  private static func home(_ environment: [String: String]) -> String {
    if let home = absolute(environment["HOME"]) { return home }
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16384)
    if getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil, let home = entry.pw_dir {
      return absolute(String(cString: home)) ?? "/"
    }
    return "/"
  }

  /// The folder of files that may be deleted, without making any folder.
  package static func cacheFolder(environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
    absolute(environment["XDG_CACHE_HOME"]) ?? home(environment) + "/.cache"
  }
}
