import Synchronization

/// How many connections are open, and how many bytes they hold of messages that have begun, of each program and in all,
/// so that no app takes the service's files and memory or keeps others from it. May be used from any thread.
///
/// A program has never more connections than there are places left: the fewer there are, the less of them each takes, so
/// that a few copies of a program under other names leave places too.
final class ConnectionQuota: Sendable {
  private let limits: ConnectionLimits
  private let open = Mutex(Open())

  private struct Open {
    var total = 0
    var byProgram: [String: Int] = [:]
    var used: [Use: [String: Int]] = [:]
    var refused = 0
    var heldBytes = 0
    var heldBytesByProgram: [String: Int] = [:]
    var files = 0
    var filesByProgram: [String: Int] = [:]
  }

  init(_ limits: ConnectionLimits) { self.limits = limits }

  /// The lasting use of a connection, which is told from its requests.
  enum Use { case sessions, watching }

  enum Exceeded: Error, Equatable, CustomStringConvertible {
    case total(limit: Int)
    case program(String, limit: Int)
    case sessionsOfProgram(String, limit: Int)
    case watchersOfProgram(String, limit: Int)
    case bytes(limit: Int)
    case bytesOfProgram(String, limit: Int)
    case files(limit: Int)
    case filesOfProgram(String, limit: Int)

    var description: String {
      switch self {
      case .total(let limit): "there are \(limit) connections already"
      case .program(let program, let limit): "\(program) has \(limit) connections already"
      case .sessionsOfProgram(let program, let limit): "\(program) has \(limit) connections with sessions already"
      case .watchersOfProgram(let program, let limit): "\(program) has \(limit) connections that watch already"
      case .bytes(let limit): "messages that have begun have more than \(limit) bytes together"
      case .bytesOfProgram(let program, let limit):
        "messages of \(program) that have begun have more than \(limit) bytes together"
      case .files(let limit): "apps have passed \(limit) open files that are not copied yet"
      case .filesOfProgram(let program, let limit): "\(program) has passed \(limit) open files that are not copied yet"
      }
    }
  }

  /// Counts one more connection, whatever program has it. `end()` has to follow when it is closed.
  func begin() throws {
    try open.withLock { open in
      guard open.total < limits.connections else { throw Exceeded.total(limit: limits.connections) }
      open.total += 1
    }
  }

  func end() { open.withLock { $0.total -= 1 } }

  /// Says which program has a connection that was counted. `end(_:)` has to follow when it is closed.
  func begin(_ program: String) throws {
    try open.withLock { open in
      let count = open.byProgram[program] ?? 0
      // The connection in question has its own place already.
      let limit = min(limits.connectionsPerProgram, limits.connections - open.total + 1)
      guard count < limit else { throw Exceeded.program(program, limit: limit) }
      open.byProgram[program] = count + 1
    }
  }

  func end(_ program: String) {
    open.withLock { open in
      let count = (open.byProgram[program] ?? 0) - 1
      open.byProgram[program] = count > 0 ? count : nil
    }
  }

  /// Counts a connection of that program that is put to a lasting use. `end(_:of:)` has to follow when it is closed.
  func begin(_ use: Use, of program: String) throws(Exceeded) {
    try open.withLock { open throws(Exceeded) in
      let count = open.used[use]?[program] ?? 0
      switch use {
      case .sessions where count >= limits.sessionConnectionsPerProgram:
        throw Exceeded.sessionsOfProgram(program, limit: limits.sessionConnectionsPerProgram)
      case .watching where count >= limits.watchingConnectionsPerProgram:
        throw Exceeded.watchersOfProgram(program, limit: limits.watchingConnectionsPerProgram)
      case .sessions, .watching: open.used[use, default: [:]][program] = count + 1
      }
    }
  }

  func end(_ use: Use, of program: String) {
    open.withLock { open in
      let count = (open.used[use]?[program] ?? 0) - 1
      open.used[use]?[program] = count > 0 ? count : nil
    }
  }

  /// Whether a connection that is too many may stay open until it is told so. `endRefusal()` has to follow then.
  func beginRefusal() -> Bool {
    open.withLock { open in
      guard open.refused < limits.connectionsBeingRefused else { return false }
      open.refused += 1
      return true
    }
  }

  func endRefusal() { open.withLock { $0.refused -= 1 } }

  // MARK: Bytes

  /// A connection of that program holds more bytes, or fewer. Those that are too many are not counted.
  func changeHeldBytes(by change: Int, of program: String) throws {
    try open.withLock { open in
      let bytes = (open.heldBytesByProgram[program] ?? 0) + change
      if change > 0 {
        guard open.heldBytes + change <= limits.heldBytes else { throw Exceeded.bytes(limit: limits.heldBytes) }
        guard bytes <= limits.heldBytesPerProgram else {
          throw Exceeded.bytesOfProgram(program, limit: limits.heldBytesPerProgram)
        }
      }
      open.heldBytes += change
      open.heldBytesByProgram[program] = bytes > 0 ? bytes : nil
    }
  }

  // MARK: Open files

  /// Counts open files that an app passes. `endFiles` has to follow.
  func beginFiles(_ count: Int, of program: String) throws {
    try open.withLock { open in
      guard open.files + count <= limits.files else { throw Exceeded.files(limit: limits.files) }
      let own = (open.filesByProgram[program] ?? 0) + count
      guard own <= limits.filesPerProgram else {
        throw Exceeded.filesOfProgram(program, limit: limits.filesPerProgram)
      }
      open.files += count
      open.filesByProgram[program] = own
    }
  }

  func endFiles(_ count: Int, of program: String) {
    open.withLock { open in
      open.files -= count
      let own = (open.filesByProgram[program] ?? 0) - count
      open.filesByProgram[program] = own > 0 ? own : nil
    }
  }
}
