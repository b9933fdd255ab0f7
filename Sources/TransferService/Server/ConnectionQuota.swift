import Synchronization

/// How many connections are open, of each program and in all, so that no app takes the service's files or keeps others
/// from it. May be used from any thread.
final class ConnectionQuota: Sendable {
  private let total: Int
  private let perProgram: Int
  private let open = Mutex<[String: Int]>([:])

  init(total: Int, perProgram: Int) {
    self.total = total
    self.perProgram = perProgram
  }

  struct Exceeded: Error, CustomStringConvertible {
    let program: String
    let limit: Int
    let isOfProgram: Bool

    var description: String {
      isOfProgram ? "\(program) has \(limit) connections already" : "there are \(limit) connections already"
    }
  }

  /// Counts one more. `end` has to follow when it is closed.
  func begin(_ program: String) throws {
    try open.withLock { open in
      guard open.values.reduce(0, +) < total else { throw Exceeded(program: program, limit: total, isOfProgram: false) }
      let count = open[program] ?? 0
      guard count < perProgram else { throw Exceeded(program: program, limit: perProgram, isOfProgram: true) }
      open[program] = count + 1
    }
  }

  func end(_ program: String) {
    open.withLock { open in
      let count = (open[program] ?? 0) - 1
      open[program] = count > 0 ? count : nil
    }
  }
}
