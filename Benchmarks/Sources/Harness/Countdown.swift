import Synchronization

/// Says when so many things have happened, from any thread.
public final class Countdown: Sendable {
  private let state: Mutex<(remaining: Int, end: (@Sendable () -> Void)?)>

  public init(_ count: Int) { state = Mutex((count, nil)) }

  public func whenOver(_ end: @escaping @Sendable () -> Void) { state.withLock { $0.end = end } }

  public func countDown() {
    let end = state.withLock { state in
      state.remaining -= 1
      return state.remaining == 0 ? state.end : nil
    }
    end?()
  }
}
