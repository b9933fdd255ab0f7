import Foundation

/// Files of users and passwords that a server's own user can read, removed with the object.
final class PasswordFiles: Sendable {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("users-\(UUID().uuidString)")

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Returns the path of a file with this line.
  func make(_ line: String) throws -> String {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    let file = folder.appendingPathComponent(UUID().uuidString)
    try Data((line + "\n").utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    return file.path
  }
}
