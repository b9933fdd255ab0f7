import Synchronization

/// Progress on its way to a delegate: reports that arrive before the call runs are told in one call.
final class ProgressBatch: Sendable {
  private let state: Mutex<(bytes: Int64, total: Int64, expected: Int64, isTaken: Bool)>

  init(bytes: Int64, total: Int64, expected: Int64) { state = Mutex((bytes, total, expected, false)) }

  func join(bytes: Int64, total: Int64, expected: Int64) -> Bool {
    state.withLock { state in
      guard !state.isTaken else { return false }
      state = (state.bytes + bytes, total, expected, false)
      return true
    }
  }

  func take() -> (bytes: Int64, total: Int64, expected: Int64) {
    state.withLock { state in
      state.isTaken = true
      return (state.bytes, state.total, state.expected)
    }
  }
}
