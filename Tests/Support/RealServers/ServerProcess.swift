import ChildProcess
import Foundation
import Glibc
import Synchronization

/// A server program that cannot outlive this process.
///
/// It runs in a session of its own under a small shell that reads signal names from a pipe and passes them on. When
/// the pipe closes, which the kernel does when this process ends however it ends, the shell kills the server with all
/// its workers. (PR_SET_PDEATHSIG would not do: it fires when the thread that started the server ends, which a thread
/// of a pool may at any time, and a server's workers do not inherit it.)
final class ServerProcess: Sendable {
  private static let keeper = """
    exec 3<&0
    setsid "$@" </dev/null 3<&- &
    server=$!
    {
      while read -r signal; do kill -s "$signal" "$server" 2>/dev/null; done
      kill -s KILL -- "-$server" 2>/dev/null
    } <&3 3<&- &
    listener=$!
    exec 3<&- </dev/null
    wait "$server"
    code=$?
    kill -s KILL -- "-$server" 2>/dev/null
    kill "$listener" 2>/dev/null
    exit "$code"
    """

  private enum Phase {
    case running(waiting: [CheckedContinuation<Void, Never>])
    case ended
  }

  private let process: ChildProcess
  private let commands: FileHandle
  /// Keeps the pipe readable: writing to a server that has ended must not raise SIGPIPE.
  private let echo: FileHandle
  private let phase = Mutex(Phase.running(waiting: []))

  /// Starts the program; what it prints goes to the file `log`.
  init(program: String, arguments: [String], environment: [String: String] = [:], log: String) throws {
    try Data().write(to: URL(fileURLWithPath: log))
    guard let output = FileHandle(forWritingAtPath: log) else { throw CocoaError(.fileWriteUnknown) }
    let pipe = Pipe()
    process = ChildProcess()
    commands = pipe.fileHandleForWriting
    echo = FileHandle(fileDescriptor: dup(pipe.fileHandleForReading.fileDescriptor), closeOnDealloc: true)
    // No other child of this process may hold the pipe open.
    _ = fcntl(commands.fileDescriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(echo.fileDescriptor, F_SETFD, FD_CLOEXEC)
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", Self.keeper, "keeper", program] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = pipe
    process.standardOutput = output
    process.standardError = output
    process.terminationHandler = { [weak self] _ in self?.ended() }
    try process.run()
    try output.close()
  }

  deinit {
    try? commands.close()
  }

  var isRunning: Bool {
    phase.withLock { if case .running = $0 { true } else { false } }
  }

  /// Sends the server (not its workers) a signal by name: `TERM`, `HUP`, `STOP`.
  func signal(_ name: String) {
    try? commands.write(contentsOf: Data((name + "\n").utf8))
  }

  /// TERM, and KILL for the server and its workers when it has not ended after `grace`. Returns when it has ended.
  func stop(grace: Duration = .seconds(5)) async {
    signal("TERM")
    let killer = Task {
      try await Task.sleep(for: grace)
      try commands.close()
    }
    await waitUntilEnded()
    killer.cancel()
  }

  func waitUntilEnded() async {
    await withCheckedContinuation { continuation in
      let isOver = phase.withLock { phase -> Bool in
        guard case .running(let waiting) = phase else { return true }
        phase = .running(waiting: waiting + [continuation])
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  private func ended() {
    let waiting = phase.withLock { phase -> [CheckedContinuation<Void, Never>] in
      defer { phase = .ended }
      if case .running(let waiting) = phase { return waiting }
      return []
    }
    for continuation in waiting { continuation.resume() }
  }
}
