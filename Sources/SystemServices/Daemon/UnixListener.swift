import Foundation

/// A socket that is bound to a path, for an event loop that listens on it. SwiftNIO's own would remove the path when it is
/// closed, whichever socket is there by then.
package enum UnixListener {
  /// Makes the socket at `path`, open to this user alone. The caller closes the descriptor.
  package static func bind(_ path: String) throws -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    guard name.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw SystemError(ENAMETOOLONG, "bind", path: path)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError(errno, "socket", path: path) }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    // It does not listen yet, so there is no moment at which others can connect.
    guard isBound, chmod(path, 0o600) == 0 else {
      let error = SystemError(errno, isBound ? "chmod" : "bind", path: path)
      close(descriptor)
      throw error
    }
    return descriptor
  }
}
