import Foundation

/// A small file system over a folder, in a mount namespace: it can be filled, and made one that is only read. Programs that
/// are run in its place see it.
final class SmallDisk: Sendable {
  /// The command that runs a program where the disk is.
  var place: [String] { holder.entering(["mount"]) }
  /// The folder, for programs that run elsewhere, such as the tests.
  var path: String { "/proc/\(holder.pid)/root\(folder)" }

  private let folder: String
  private let holder: NamespaceHolder

  init(at folder: String, bytes: Int) async throws {
    self.folder = folder
    holder = try NamespaceHolder(
      Namespaces.unshare
        + [
          "--mount", "/bin/sh", "-c", "mount -t tmpfs -o size=$1,mode=0700 none \"$0\" && exec cat", folder, "\(bytes)",
        ])
    try await holder.ready()
  }

  /// Gives all of its free bytes to a file.
  func fill() {
    let file = open(path + "/ballast", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    var piece = [UInt8](repeating: 0, count: 1 << 20)
    while !piece.isEmpty {
      let written = write(file, piece, piece.count)
      // The rest of the last bytes in smaller pieces.
      if written < 0 { piece.removeLast((piece.count + 1) / 2) }
    }
  }

  func makeRoom() { unlink(path + "/ballast") }

  /// - Returns: whether it is so: a file that is open for writing prevents it.
  func setReadOnly(_ isReadOnly: Bool) throws -> Bool {
    try Namespaces.runNow(place + ["/bin/mount", "-o", "remount,\(isReadOnly ? "ro" : "rw")", folder]).status == 0
  }

  func end() { holder.end() }
}
