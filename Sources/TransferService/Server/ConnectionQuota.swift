import Synchronization

/// How many connections are open, of each program and in all, so that no app takes the service's files or keeps others
/// from it. May be used from any thread.
final class ConnectionQuota: Sendable {
  private let total: Int
  private let perProgram: Int
  private let open = Mutex(Open())

  private struct Open {
    var total = 0
    var byProgram: [String: Int] = [:]
  }

  init(total: Int, perProgram: Int) {
    self.total = total
    self.perProgram = perProgram
  }

  enum Exceeded: Error, Equatable, CustomStringConvertible {
    case total(limit: Int)
    case program(String, limit: Int)

    var description: String {
      switch self {
      case .total(let limit): "there are \(limit) connections already"
      case .program(let program, let limit): "\(program) has \(limit) connections already"
      }
    }
  }

  /// Counts one more connection, whatever program has it. `end()` has to follow when it is closed.
  func begin() throws {
    try open.withLock { open in
      guard open.total < total else { throw Exceeded.total(limit: total) }
      open.total += 1
    }
  }

  func end() { open.withLock { $0.total -= 1 } }

  /// Says which program has a connection that was counted. `end(_:)` has to follow when it is closed.
  func begin(_ program: String) throws {
    try open.withLock { open in
      let count = open.byProgram[program] ?? 0
      guard count < perProgram else { throw Exceeded.program(program, limit: perProgram) }
      open.byProgram[program] = count + 1
    }
  }

  func end(_ program: String) {
    open.withLock { open in
      let count = (open.byProgram[program] ?? 0) - 1
      open.byProgram[program] = count > 0 ? count : nil
    }
  }
}
