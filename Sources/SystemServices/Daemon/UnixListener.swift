import Foundation

/// A socket that is bound to a path, for an event loop that listens on it. SwiftNIO's own would remove the path when it is
/// closed, whichever socket is there by then.
package enum UnixListener {
  /// Whether a process accepts connections there. Waits for none.
  package static func isAnswered(_ path: String) -> Bool {
    do { close(try connect(path)) } catch {
      // EAGAIN: a process listens, and many connections wait.
      return (error as? SystemError)?.code == EAGAIN
    }
    return true
  }

  /// Connects to the socket, and waits for nothing: EAGAIN where many connections wait. The caller closes the descriptor, which never
  /// blocks.
  package static func connect(_ path: String) throws -> Int32 {
    let place = try SocketPath(path)
    defer { withExtendedLifetime(place) {} }
    guard let address = UnixAddress(place.text) else { throw SystemError(ENAMETOOLONG, "connect", path: path) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError(errno, "socket", path: path) }
    guard address.withPointer({ Glibc.connect(descriptor, $0, $1) }) == 0 else {
      let error = SystemError(errno, "connect", path: path)
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Makes the socket at `path`, open to this user alone. The caller closes the descriptor.
  package static func bind(_ path: String) throws -> Int32 {
    let place = try SocketPath(path)
    defer { withExtendedLifetime(place) {} }
    guard let address = UnixAddress(place.text) else { throw SystemError(ENAMETOOLONG, "bind", path: path) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError(errno, "socket", path: path) }
    let isBound = address.withPointer { Glibc.bind(descriptor, $0, $1) == 0 }
    // It does not listen yet, so there is no moment at which others can connect.
    guard isBound, chmod(path, 0o600) == 0 else {
      let error = SystemError(errno, isBound ? "chmod" : "bind", path: path)
      close(descriptor)
      throw error
    }
    return descriptor
  }
}
