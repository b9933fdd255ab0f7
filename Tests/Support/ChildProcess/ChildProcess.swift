import Foundation
import Glibc
import Synchronization

/// A program that a test runs: the part of Foundation's `Process` that tests use.
///
/// Foundation's own looks for open files in a way that, with many of them, reads past the end of a buffer and now and
/// then takes the test runner with it. This one leaves that to the C library, which closes every other file in the child
/// and gives it a clean signal mask.
package final class ChildProcess: @unchecked Sendable {
  package enum TerminationReason: Sendable { case exit, uncaughtSignal }

  private enum Phase {
    case unstarted
    case running(pid_t)
    case ended(status: Int32, reason: TerminationReason)
  }

  package var executableURL: URL?
  package var arguments: [String] = []
  /// nil: that of this process.
  package var environment: [String: String]?
  package var currentDirectoryURL: URL?
  /// A `Pipe` or a `FileHandle`; nil: that of this process.
  package var standardInput: Any?
  package var standardOutput: Any?
  package var standardError: Any?
  /// The path of a terminal that the program is to have as `/dev/tty`, in a session of its own.
  package var controllingTerminal: String?
  /// Called on a thread of its own.
  package var terminationHandler: (@Sendable (ChildProcess) -> Void)?

  private let phase = Mutex(Phase.unstarted)
  private let end = DispatchGroup()
  private let pid = Atomic<pid_t>(0)

  package init() {}

  package var processIdentifier: pid_t { pid.load(ordering: .acquiring) }

  package var isRunning: Bool { phase.withLock { if case .running = $0 { true } else { false } } }

  /// 0 while it runs.
  package var terminationStatus: Int32 { phase.withLock { if case .ended(let status, _) = $0 { status } else { 0 } } }

  package var terminationReason: TerminationReason {
    phase.withLock { if case .ended(_, let reason) = $0 { reason } else { .exit } }
  }

  package func run() throws {
    guard let program = executableURL?.path else { throw CocoaError(.fileNoSuchFile) }
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    // The threads of pools block almost every signal, and a child inherits what the thread that starts it blocks.
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    // POSIX_SPAWN_SETSID, which glibc declares where _GNU_SOURCE is defined.
    if controllingTerminal != nil { flags |= 0x80 }
    posix_spawnattr_setflags(&attributes, Int16(flags))
    for (number, stream) in [standardInput, standardOutput, standardError].enumerated() {
      guard let descriptor = Self.descriptor(of: stream, reading: number == 0) else { continue }
      posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
    }
    // The first terminal that the first process of a session opens.
    if let controllingTerminal { posix_spawn_file_actions_addopen(&actions, 3, controllingTerminal, O_RDWR, 0) }
    closeFrom(&actions, 3)
    if let folder = currentDirectoryURL?.path { changeFolder(&actions, folder) }

    let variables = environment ?? ProcessInfo.processInfo.environment
    var argv = ([program] + arguments).map { strdup($0) }
    var envp = variables.map { strdup("\($0.key)=\($0.value)") }
    argv.append(nil)
    envp.append(nil)
    defer { (argv + envp).forEach { free($0) } }

    var child: pid_t = 0
    let failure = posix_spawn(&child, program, &actions, &attributes, argv, envp)
    guard failure == 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(failure)) }
    closeEndsOfChild()
    let started = child
    pid.store(started, ordering: .releasing)
    phase.withLock { $0 = .running(started) }
    end.enter()
    let reaper = Thread { self.reap(started) }
    reaper.stackSize = 256 * 1024
    reaper.start()
  }

  /// Returns when it has ended.
  package func waitUntilExit() { end.wait() }

  /// Sends TERM.
  package func terminate() {
    phase.withLock { if case .running(let pid) = $0 { _ = kill(pid, SIGTERM) } }
  }

  private func reap(_ pid: pid_t) {
    // Waited for first and reaped under the lock, so that no signal reaches another process of the same number.
    var information = siginfo_t()
    while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    phase.withLock { phase in
      var status: Int32 = 0
      while waitpid(pid, &status, 0) == -1, errno == EINTR {}
      let signal = status & 0x7f
      phase =
        signal == 0
        ? .ended(status: (status >> 8) & 0xff, reason: .exit) : .ended(status: signal, reason: .uncaughtSignal)
    }
    terminationHandler?(self)
    end.leave()
  }

  private static func descriptor(of stream: Any?, reading: Bool) -> Int32? {
    switch stream {
    case let handle as FileHandle: handle.fileDescriptor
    case let pipe as Pipe: (reading ? pipe.fileHandleForReading : pipe.fileHandleForWriting).fileDescriptor
    default: nil
    }
  }

  /// As `Process` does: this process keeps its own ends of the pipes only, so that their end is seen.
  private func closeEndsOfChild() {
    if let pipe = standardInput as? Pipe { try? pipe.fileHandleForReading.close() }
    let output = standardOutput as? Pipe
    try? output?.fileHandleForWriting.close()
    if let errors = standardError as? Pipe, errors !== output { try? errors.fileHandleForWriting.close() }
  }
}

// glibc declares these two where _GNU_SOURCE is defined, which Swift's module of it does not do.
@_silgen_name("posix_spawn_file_actions_addclosefrom_np") @discardableResult
private func closeFrom(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ descriptor: Int32) -> Int32

@_silgen_name("posix_spawn_file_actions_addchdir_np") @discardableResult
private func changeFolder(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ path: UnsafePointer<CChar>)
  -> Int32
