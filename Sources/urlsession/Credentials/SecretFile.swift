import Foundation
import SystemServices

/// Files with passwords and keys.
enum SecretFile {
  static func content(_ path: String) throws -> Data {
    if path == "-" { return try FileHandle.standardInput.readToEnd() ?? Data() }
    guard let data = FileManager.default.contents(atPath: path) else { throw unreadable(path) }
    return data
  }

  /// The first line, without its end, which never gets into ordinary memory.
  ///
  /// - Throws: also for a file that other users can read.
  static func firstLine(_ path: String) throws -> SecretBytes {
    let file = try secret(path)
    return file.withBytes { bytes in
      let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
      return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: line))
    }
  }

  /// The content of a file that no other user can read, at most 1 MiB.
  static func secret(_ path: String) throws -> SecretBytes {
    try checkPermissions(path)
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(path) }
    defer { if path != "-" { close(descriptor) } }
    return try SecretBytes(capacity: 1 << 20) { buffer in
      var count = 0
      while count < buffer.count {
        let result = read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
        if result < 0, errno == EINTR { continue }
        guard result >= 0 else { throw unreadable(path) }
        if result == 0 { break }
        count += result
      }
      return count
    }
  }

  private static func unreadable(_ path: String) -> CommandFailure {
    CommandFailure(.usage, "\(path) can't be read", advice: "check the path and its permissions")
  }

  static func checkPermissions(_ path: String) throws {
    guard path != "-" else { return }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 else { return }
    throw CommandFailure(.usage, "other users can read \(path)", advice: "make it private: chmod 600 \(path)")
  }
}
