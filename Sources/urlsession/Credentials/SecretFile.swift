import Foundation

/// Files with passwords and keys.
enum SecretFile {
  static func content(_ path: String) throws -> Data {
    if path == "-" { return try FileHandle.standardInput.readToEnd() ?? Data() }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CommandFailure(.usage, "\(path) can't be read", advice: "check the path and its permissions")
    }
    return data
  }

  /// The first line, without its end.
  ///
  /// - Throws: also for a file that other users can read.
  static func firstLine(_ path: String) throws -> String {
    try checkPermissions(path)
    let line = try content(path).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    return String(decoding: line, as: UTF8.self)
  }

  static func checkPermissions(_ path: String) throws {
    guard path != "-" else { return }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 else { return }
    throw CommandFailure(.usage, "other users can read \(path)", advice: "make it private: chmod 600 \(path)")
  }
}
