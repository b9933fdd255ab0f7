import Foundation

/// The user of this process as the user database has it.
enum UserAccount {
  /// `HOME`, `USER`, `LOGNAME` and `SHELL`; empty where the database does not know the user.
  static func variables(of user: uid_t = geteuid()) -> [String: String] {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16384)
    guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return [:] }
    let values = [
      ("HOME", entry.pw_dir), ("USER", entry.pw_name), ("LOGNAME", entry.pw_name), ("SHELL", entry.pw_shell),
    ]
    return Dictionary(
      values.compactMap { name, value in value.map { (name, String(cString: $0)) } }, uniquingKeysWith: { $1 })
  }
}
