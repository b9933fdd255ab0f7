import Foundation

/// The process and the program at the other end of a socket. Everything in it comes from the kernel, nothing from the
/// peer's messages.
///
/// It says which process connected, and which program that process runs now. It proves nothing against a hostile program
/// of the same user: that can leave the socket to a child and become another program, or run another program with a
/// library of its own in it.
package struct PeerIdentity: Sendable, Equatable {
  package var process: ProcessIdentity
  package var executable: ExecutableIdentity

  package init(process: ProcessIdentity, executable: ExecutableIdentity) {
    self.process = process
    self.executable = executable
  }

  package enum Refusal: Error, Sendable, Equatable, CustomStringConvertible {
    case otherUser(uid_t)
    case gone(pid_t)
    case recycled(pid_t)
    case unreadable(pid_t, String)
    case elsewhere(pid_t, String)

    package var description: String {
      switch self {
      case .otherUser(let uid): "the caller belongs to user \(uid); this service works for user \(geteuid()) only"
      case .gone(let pid): "the calling process \(pid) has ended"
      case .recycled(let pid): "process \(pid) is not the one that called any more"
      case .unreadable(let pid, let reason): "the program of process \(pid) can't be determined: \(reason)"
      case .elsewhere(let pid, let path):
        "process \(pid) runs another program as \(path) than the one that is there; it has mounts of its own"
      }
    }
  }

  /// Looks the process up. Its start time is read before and after, so that a number that was given to another process
  /// meanwhile is noticed.
  package init(_ credentials: PeerCredentials) throws {
    guard credentials.uid == geteuid() else { throw Refusal.otherUser(credentials.uid) }
    let pid = credentials.pid
    guard let before = ProcessIdentity(pid: pid) else { throw Refusal.gone(pid) }
    let executable = try PeerIdentity.executable(of: pid)
    guard let after = ProcessIdentity(pid: pid) else { throw Refusal.gone(pid) }
    guard before == after else { throw Refusal.recycled(pid) }
    self.init(process: after, executable: executable)
  }

  /// The facts that the kernel shows of a process's program.
  struct Sighting: Equatable {
    struct File: Equatable {
      var device: UInt64
      var inode: UInt64
    }

    /// The text of the link `/proc/PID/exe`.
    var link: String
    /// The file it leads to, whatever its present name.
    var file: File
    /// How many names that has left.
    var names: UInt64
    /// The file that is there now; nil for nothing.
    var here: File?
    /// Whether the process sees the same mounts as we do.
    var sharesMounts: Bool

    /// The path that the app is known by; nil when it is not the file at that path which runs.
    ///
    /// The path alone proves nothing: with mounts of its own, a process can have any file run under any path. So the
    /// file that we find there has to be the one that runs. A program that an update replaced while it ran can't be
    /// found any more: proc(5) puts " (deleted)" behind its path, and the name stays the app's, provided that the
    /// process has no mounts of its own.
    var path: String? {
      guard link.hasPrefix("/") else { return nil }
      if here == file { return link }
      let mark = " (deleted)"
      guard names == 0, sharesMounts, link.hasSuffix(mark) else { return nil }
      return String(link.dropLast(mark.count))
    }
  }

  /// Tells the programs of processes apart before they are looked up: the path as the kernel remembers it, with the mounts that
  /// the process sees. No file system is asked, so this does not block. A process chooses the path, which is no proof of
  /// anything.
  package static func rememberedProgram(of pid: pid_t) -> String {
    let parts = [try? target(of: "/proc/\(pid)/ns/mnt", pid), try? target(of: "/proc/\(pid)/exe", pid)]
    return parts.map { $0 ?? "unknown" }.joined(separator: " ")
  }

  /// The text of a link that the kernel makes.
  private static func target(of link: String, _ pid: pid_t) throws -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink(link, &buffer, buffer.count - 1)
    guard count > 0 else { throw Refusal.unreadable(pid, String(cString: strerror(errno))) }
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func executable(of pid: pid_t) throws -> ExecutableIdentity {
    let link = "/proc/\(pid)/exe"
    let text = try target(of: link, pid)
    var status = stat()
    // stat, not lstat: it follows the link to the very file, even when that has no name any more.
    guard stat(link, &status) == 0 else { throw Refusal.unreadable(pid, String(cString: strerror(errno))) }
    let file = Sighting.File(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    let sighting = Sighting(
      link: text, file: file, names: UInt64(status.st_nlink), here: look(at: text, follows: false),
      sharesMounts: sharesMounts(pid))
    guard let path = sighting.path else { throw Refusal.elsewhere(pid, text) }
    return ExecutableIdentity(path: path, device: file.device, inode: file.inode, owner: status.st_uid)
  }

  private static func look(at path: String, follows: Bool) -> Sighting.File? {
    var status = stat()
    guard (follows ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
    return Sighting.File(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  /// namespaces(7): the same namespace is the same file.
  private static func sharesMounts(_ pid: pid_t) -> Bool {
    guard let theirs = look(at: "/proc/\(pid)/ns/mnt", follows: true) else { return false }
    return theirs == look(at: "/proc/self/ns/mnt", follows: true)
  }
}
