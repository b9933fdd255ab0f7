import DequeModule
import Foundation
import Synchronization

/// The messages, pings and closings between an app and its WebSocket connection. The app puts them in on any thread,
/// the conversation takes them out on its event loop, and the other way round.
///
/// Answers leave in order: they are queued under the lock, and one thread at a time hands them on.
final class WebSocketMailbox: Sendable {
  typealias Message = URLSessionWebSocketTask.Message

  enum Outgoing: Sendable {
    case message(Message, TaskWaiter<Void>)
    case ping(TaskWaiter<Void>)

    var isPing: Bool { if case .ping = self { true } else { false } }
  }

  struct Closing: Sendable {
    var code = URLSessionWebSocketTask.CloseCode.invalid
    var reason: Data?
  }

  private struct State {
    var lane: DeliveryLane?
    /// Wakes the conversation; nil while there is none.
    var wake: (@Sendable () -> Void)?
    var end: (any Error)?
    var closing = Closing()
    var requestedClose: Closing?

    var outgoing = Deque<Outgoing>()
    /// Written, the kernel's answer not known yet.
    var inFlight: [TaskWaiter<Void>] = []
    var pings = Deque<(payload: UInt64, waiter: TaskWaiter<Void>)>()
    var receivers = Deque<(id: UInt64, waiter: TaskWaiter<Message>)>()
    var received = Deque<Message>()
    var receivedBytes = 0

    var answers = Deque<@Sendable (DeliveryLane?) -> Void>()
    var isAnswering = false

    mutating func answer<Value: Sendable>(_ waiter: TaskWaiter<Value>, _ result: Result<Value, any Error>) {
      answers.append { waiter.answer(result, on: $0) }
    }
  }

  private let state = Mutex(State())
  private let lastReceiverID = Atomic<UInt64>(0)

  /// Beyond so many bytes that the app has not received the connection is not read.
  private static let readAhead = 512 * 1024
  /// The bytes that a message counts for besides its own.
  private static let messageWeight = 64

  /// The error of sends and receives on a connection that is closed, as on Apple's systems.
  static let notConnected: any Error = POSIXError(.ENOTCONN)

  /// The error of a ping there: its handler is documented to get the error of a lost connection.
  private static let pingLost: any Error = ErrorMapping.make(
    .networkConnectionLost, because: "The WebSocket connection is closed, so no pong can come.")

  /// The error of a ping on a connection that ended with `end`.
  private static func pingError(_ end: any Error) -> any Error { end is POSIXError ? pingLost : end }

  /// Changes the state, then hands on the answers that this made due.
  private func update<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
    let (value, mustAnswer) = state.withLock { state in
      let value = change(&state)
      guard !state.answers.isEmpty, !state.isAnswering else { return (value, false) }
      state.isAnswering = true
      return (value, true)
    }
    if mustAnswer { handOnAnswers() }
    return value
  }

  private func handOnAnswers() {
    while true {
      let next = state.withLock { state in
        let next = state.answers.popFirst()
        if next == nil { state.isAnswering = false }
        return (next, state.lane)
      }
      guard let answer = next.0 else { return }
      answer(next.1)
    }
  }

  // MARK: The app's side

  /// Handlers are called through `lane` from now on.
  func use(_ lane: DeliveryLane) { state.withLock { $0.lane = lane } }

  var closing: Closing { state.withLock { $0.closing } }

  func send(_ message: Message, _ waiter: TaskWaiter<Void>) { put(.message(message, waiter), waiter) }

  func ping(_ waiter: TaskWaiter<Void>) { put(.ping(waiter), waiter) }

  private func put(_ outgoing: Outgoing, _ waiter: TaskWaiter<Void>) {
    let wake = update { state -> (@Sendable () -> Void)? in
      // Behind a close frame nothing is sent (RFC 6455 §5.5.1).
      if let end = state.end ?? (state.requestedClose == nil ? nil : WebSocketMailbox.notConnected) {
        state.answer(waiter, .failure(outgoing.isPing ? WebSocketMailbox.pingError(end) : end))
        return nil
      }
      state.outgoing.append(outgoing)
      return state.wake
    }
    wake?()
  }

  func nextReceiverID() -> UInt64 { lastReceiverID.add(1, ordering: .relaxed).newValue }

  func receive(_ id: UInt64, _ waiter: TaskWaiter<Message>) {
    let wake = update { state -> (@Sendable () -> Void)? in
      // No receiver waits while there is something.
      if let message = state.received.popFirst() {
        let wasFull = state.receivedBytes >= WebSocketMailbox.readAhead
        state.receivedBytes -= WebSocketMailbox.weight(of: message)
        state.answer(waiter, .success(message))
        return wasFull && state.receivedBytes < WebSocketMailbox.readAhead ? state.wake : nil
      }
      if let end = state.end { state.answer(waiter, .failure(end)) } else { state.receivers.append((id, waiter)) }
      return nil
    }
    wake?()
  }

  /// The receiver waits no longer.
  func withdraw(_ id: UInt64) {
    update { state in
      guard let index = state.receivers.firstIndex(where: { $0.id == id }) else { return }
      state.answer(state.receivers.remove(at: index).waiter, .failure(ErrorMapping.cancelled))
    }
  }

  func requestClose(_ code: URLSessionWebSocketTask.CloseCode, reason: Data?) {
    state.withLock { state in
      guard state.requestedClose == nil, state.end == nil else { return }
      state.requestedClose = Closing(code: code, reason: reason)
    }
  }

  /// Starts the close handshake that was asked for. False when there is no connection to close, or none was asked for.
  func startClosing() -> Bool {
    let wake = state.withLock { $0.requestedClose == nil ? nil : $0.wake }
    wake?()
    return wake != nil
  }

  // MARK: The conversation's side

  /// A conversation begins; `wake` is called, on any thread, when there is something new for it.
  func open(wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  /// The next thing to send. It is in flight until `sent`.
  func nextOutgoing() -> Outgoing? {
    state.withLock { state in
      guard let next = state.outgoing.popFirst() else { return nil }
      if case .message(_, let waiter) = next { state.inFlight.append(waiter) }
      return next
    }
  }

  var hasOutgoing: Bool { state.withLock { !$0.outgoing.isEmpty || $0.requestedClose != nil } }

  /// The close frame that the app has asked for; nil when it has not.
  var requestedClose: Closing? { state.withLock { $0.requestedClose } }

  /// The close frame that the app has asked for, once everything before that is sent.
  var closeIsDue: Closing? { state.withLock { $0.outgoing.isEmpty ? $0.requestedClose : nil } }

  /// All that is in flight has reached the kernel.
  func sent() {
    update { state in
      for waiter in state.inFlight { state.answer(waiter, .success(())) }
      state.inFlight.removeAll(keepingCapacity: true)
    }
  }

  func pingSent(_ payload: UInt64, _ waiter: TaskWaiter<Void>) {
    update { state in
      if let end = state.end {
        state.answer(waiter, .failure(WebSocketMailbox.pingError(end)))
      } else {
        state.pings.append((payload, waiter))
      }
    }
  }

  /// RFC 6455 §5.5.3: a pong may answer only the last of several pings; those before it are answered too.
  func pongReceived(_ payload: UInt64) {
    update { state in
      guard let index = state.pings.firstIndex(where: { $0.payload == payload }) else { return }
      for _ in 0...index {
        if let ping = state.pings.popFirst() { state.answer(ping.waiter, .success(())) }
      }
    }
  }

  func received(_ message: Message) {
    update { state in
      if let receiver = state.receivers.popFirst() {
        state.answer(receiver.waiter, .success(message))
      } else {
        state.received.append(message)
        state.receivedBytes += WebSocketMailbox.weight(of: message)
      }
    }
  }

  /// Whether the app has enough to receive for now.
  var isFull: Bool { state.withLock { $0.receivedBytes >= WebSocketMailbox.readAhead } }

  func closed(_ closing: Closing) { state.withLock { $0.closing = closing } }

  /// The connection is over: whatever waits fails with `error`, and so does what comes later.
  func end(_ error: any Error) {
    update { state in
      guard state.end == nil else { return }
      state.end = error
      state.wake = nil
      for waiter in state.inFlight { state.answer(waiter, .failure(error)) }
      state.inFlight = []
      while let outgoing = state.outgoing.popFirst() {
        switch outgoing {
        case .message(_, let waiter): state.answer(waiter, .failure(error))
        case .ping(let waiter): state.answer(waiter, .failure(WebSocketMailbox.pingError(error)))
        }
      }
      while let ping = state.pings.popFirst() {
        state.answer(ping.waiter, .failure(WebSocketMailbox.pingError(error)))
      }
      while let receiver = state.receivers.popFirst() { state.answer(receiver.waiter, .failure(error)) }
    }
  }

  private static func weight(of message: Message) -> Int {
    switch message {
    case .data(let data): data.count + messageWeight
    case .string(let text): text.utf8.count + messageWeight
    }
  }
}
