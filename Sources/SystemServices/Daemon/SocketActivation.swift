import Foundation

/// Sockets that systemd opened for us: sd_listen_fds(3). The first is file descriptor 3; `LISTEN_PID` says whether
/// they are really meant for this process.
package enum SocketActivation {
  static let firstDescriptor: Int32 = 3
  static let maximum: Int32 = 64

  /// The listening sockets handed to us, made close-on-exec; empty when we were started in another way. The variables
  /// are removed from our environment, so that no child takes them for its own.
  package static func takeSockets() -> [Int32] {
    let environment = ProcessInfo.processInfo.environment
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
    let sockets = descriptors(environment: environment, pid: getpid())
    for socket in sockets { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
    return sockets.filter(isListeningUnixSocket)
  }

  static func descriptors(environment: [String: String], pid: pid_t) -> [Int32] {
    guard let owner = environment["LISTEN_PID"].flatMap({ pid_t($0) }), owner == pid else { return [] }
    guard let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...maximum).contains(count) else { return [] }
    return (0..<count).map { firstDescriptor + $0 }
  }

  static func isListeningUnixSocket(_ descriptor: Int32) -> Bool {
    var accepts: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length) == 0, accepts != 0 else { return false }
    var domain: Int32 = 0
    length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX
  }
}
