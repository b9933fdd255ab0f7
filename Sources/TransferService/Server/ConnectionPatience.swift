import NIOCore

/// How long a connection is waited for: until it says hello, and until a message that has begun is whole. A value that is
/// told the time.
struct ConnectionPatience {
  enum Fault: Equatable, CustomStringConvertible {
    case noHello(TimeAmount)
    case noEnd(TimeAmount)

    var description: String {
      switch self {
      case .noHello(let time): "did not say hello within \(time.nanoseconds / 1_000_000) ms"
      case .noEnd(let time): "sent no end of a message within \(time.nanoseconds / 1_000_000) ms"
      }
    }
  }

  private let limits: ConnectionLimits
  private var hello: NIODeadline?
  private var message: NIODeadline?
  private var isHolding = false
  private var isPaused = false

  init(limits: ConnectionLimits, openedAt now: NIODeadline) {
    self.limits = limits
    hello = now + limits.timeForHello
  }

  /// When to ask for `fault`; nil as long as there is nothing to wait for.
  var deadline: NIODeadline? {
    guard let hello, let message else { return hello ?? message }
    return min(hello, message)
  }

  func fault(at now: NIODeadline) -> Fault? {
    if let hello, hello <= now { return .noHello(limits.timeForHello) }
    if let message, message <= now { return .noEnd(limits.timeForMessage) }
    return nil
  }

  mutating func saidHello() { hello = nil }

  /// Bytes have arrived.
  ///
  /// - Parameters:
  ///   - endsMessage: whether a message ended with them.
  ///   - begins: whether the last ones belong to a message that has not ended.
  mutating func received(endsMessage: Bool, begins: Bool, at now: NIODeadline) {
    isHolding = begins
    if !begins {
      message = nil
    } else if endsMessage || message == nil, !isPaused {
      message = now + limits.timeForMessage
    }
  }

  /// The service reads no further, so the app is not to blame for the rest.
  mutating func paused() {
    isPaused = true
    message = nil
  }

  mutating func resumed(at now: NIODeadline) {
    guard isPaused else { return }
    isPaused = false
    if isHolding { message = now + limits.timeForMessage }
  }
}
