import CLinux
import Foundation

/// The process at the other end of a Unix socket as the kernel recorded it. Its layout is that of `struct ucred`, so
/// that it can be the value of the socket option SO_PEERCRED.
package struct PeerCredentials: Sendable, Equatable {
  package var pid: pid_t
  package var uid: uid_t
  package var gid: gid_t

  package init(pid: pid_t, uid: uid_t, gid: gid_t) {
    self.pid = pid
    self.uid = uid
    self.gid = gid
  }

  /// Those of a connected socket.
  package init(socket descriptor: Int32) throws {
    var peer = clinux_peer()
    _ = try checked("getsockopt SO_PEERCRED") { clinux_peer_credentials(descriptor, &peer) }
    self.init(pid: peer.pid, uid: peer.uid, gid: peer.gid)
  }
}

/// Who is at the other end of a socket. Everything in it comes from the kernel; nothing from what the peer says.
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

    package var description: String {
      switch self {
      case .otherUser(let uid): "the caller belongs to user \(uid); this service works for user \(geteuid()) only"
      case .gone(let pid): "the calling process \(pid) has ended"
      case .recycled(let pid): "process \(pid) is not the one that called any more"
      case .unreadable(let pid, let reason): "the program of process \(pid) can't be determined: \(reason)"
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

  private static func executable(of pid: pid_t) throws -> ExecutableIdentity {
    let link = "/proc/\(pid)/exe"
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink(link, &buffer, buffer.count - 1)
    guard count > 0 else { throw Refusal.unreadable(pid, String(cString: strerror(errno))) }
    var path = String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    var status = stat()
    // stat, not lstat: it follows the link to the very file, even when that has no name any more.
    guard stat(link, &status) == 0 else { throw Refusal.unreadable(pid, String(cString: strerror(errno))) }
    // proc(5): " (deleted)" is appended when the file was unlinked, as an update does. The name stays the app's.
    let mark = " (deleted)"
    if status.st_nlink == 0, path.hasSuffix(mark) { path.removeLast(mark.count) }
    guard path.hasPrefix("/") else { throw Refusal.unreadable(pid, "it has no path") }
    return ExecutableIdentity(
      path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino), owner: status.st_uid)
  }
}
