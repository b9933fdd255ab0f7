import CLinux
import Foundation

/// Starts programs that go on when this process ends.
package enum DetachedProcess {
  /// The number of `channel` in the process that is started.
  package static let channelDescriptor: Int32 = 3

  /// Starts the program in a session of its own. It is a child: the caller has to reap it, with `whenEnded` or by ending
  /// first.
  ///
  /// - Parameters:
  ///   - output: takes its standard output and error; nil leaves them as ours.
  ///   - channel: a descriptor that it gets as number 3, open in this process too; nil for none.
  package static func start(
    _ path: String, arguments: [String], environment: [String: String], output: Int32? = nil, channel: Int32? = nil
  ) throws -> pid_t {
    // A number that the standard streams of the child can't take first.
    let copy = try channel.map { channel in
      try checked("fcntl", path: path) { fcntl(channel, F_DUPFD_CLOEXEC, 10) }
    }
    defer { if let copy { close(copy) } }
    var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
    var envp: [UnsafeMutablePointer<CChar>?] = environment.sorted { $0.key < $1.key }
      .map { strdup("\($0.key)=\($0.value)") }
    argv.append(nil)
    envp.append(nil)
    defer { (argv + envp).forEach { free($0) } }
    var pid: pid_t = 0
    let result = clinux_spawn_detached(path, argv, envp, output ?? -1, copy ?? -1, &pid)
    guard result == 0 else { throw SystemError(result, "start", path: path) }
    return pid
  }

  /// How a process ended.
  package enum End: Sendable, Equatable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  /// Reaps a child and tells when that was, on a thread of its own that does nothing else.
  package static func whenEnded(_ pid: pid_t, _ ended: @escaping @Sendable (End) -> Void) {
    let thread = Thread {
      var status: Int32 = 0
      while waitpid(pid, &status, 0) == -1 {
        guard errno == EINTR else { return ended(.exited(0)) }
      }
      // wait(2): the low seven bits are the signal, or 0 after a normal end with its status in the next eight.
      let signal = status & 0x7f
      ended(signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal: signal))
    }
    thread.name = "reaper-\(pid)"
    thread.stackSize = 128 * 1024
    thread.start()
  }
}
