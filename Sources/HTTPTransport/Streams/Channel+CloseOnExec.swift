import Glibc
import NIOCore

extension Channel {
  /// Keeps the socket from programs that this process starts: SwiftNIO's are inherited, and a peer sees no end of a connection
  /// as long as one of them has it, such as the program that writes down where a process has crashed. On the loop.
  package func closeOnExec() {
    _ = withSocket { fcntl($0, F_SETFD, FD_CLOEXEC) }
  }
}
