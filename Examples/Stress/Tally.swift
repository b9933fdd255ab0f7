import Foundation
import Synchronization

/// How often each task ended, and which delegate messages should not have come.
final class Tally: Sendable {
  fileprivate struct State {
    var endings: [Int: Int] = [:]
    var succeeded = 0
    var cancelled = 0
    var complaints: [String] = []
  }

  private let state = Mutex(State())
  private let opened: Int
  private let finished = DispatchSemaphore(value: 0)

  /// - Parameter count: How many endings there will be.
  init(expecting count: Int) { opened = count }

  /// Task `number` of the program ended.
  func end(_ number: Int, _ error: (any Error)?, isWhole: Bool) {
    let isLast = state.withLock { state in
      state.endings[number, default: 0] += 1
      if let error {
        if (error as? URLError)?.code == .cancelled {
          state.cancelled += 1
        } else {
          state.complain("task \(number) failed: \(error)")
        }
      } else {
        state.succeeded += 1
        if !isWhole { state.complain("task \(number) ended well without all of its bytes") }
      }
      return state.endings.count == opened
    }
    if isLast { finished.signal() }
  }

  func complain(_ text: String) { state.withLock { $0.complain(text) } }

  /// Waits for every task to have ended; false when that takes longer.
  func wait(seconds: Double) -> Bool { finished.wait(timeout: .now() + seconds) == .success }

  /// What is wrong, and how the tasks ended.
  func report() -> (complaints: [String], succeeded: Int, cancelled: Int) {
    state.withLock { state in
      var complaints = state.complaints
      let missing = opened - state.endings.count
      if missing > 0 { complaints.append("\(missing) tasks never ended") }
      let repeated = state.endings.count { $0.value != 1 }
      if repeated > 0 { complaints.append("\(repeated) tasks ended more than once") }
      return (complaints, state.succeeded, state.cancelled)
    }
  }
}

extension Tally.State {
  fileprivate mutating func complain(_ text: String) {
    // The first ones tell what the rest would repeat.
    if complaints.count < 20 { complaints.append(text) }
  }
}
