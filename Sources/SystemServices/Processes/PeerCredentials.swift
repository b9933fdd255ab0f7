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
