import Foundation
import SystemServices
import TransferProtocol

/// Asks a service that another process runs for a sign of life, as an app does: the answer comes from its engine.
package enum SignOfLife {
  private static let pause = Duration.milliseconds(50)

  /// Whether the service gives one within the time that a worker has for an answer to its supervisor. Each answer counts, also a
  /// refusal and a connection that it closes.
  ///
  /// - Parameter sockets: where it may listen.
  /// - Throws: `CancellationError`.
  package static func comes(from sockets: [String], rules: WorkerLiveness.Rules) async throws -> Bool {
    let question = try MessageFraming.frame(ClientMessage(id: 1, request: .hello(Hello(client: ServiceNames.program))))
    let connections = sockets.map { Asked(path: $0, question: question) }
    var wait = Wait(limit: .seconds(rules.tick * Double(rules.ticksForAnswer)))
    // This clock stands still while the machine sleeps.
    let clock = SuspendingClock()
    while !wait.isOver {
      // Before the time counts, since an answer may have come while this process was stopped.
      if connections.contains(where: { $0.isAnswered() }) { return true }
      let start = clock.now
      try await Pause.wait(pause)
      wait.passed(clock.now - start, of: pause)
    }
    return connections.contains { $0.isAnswered() }
  }

  /// The time that a process has waited for another one. A value.
  struct Wait: Equatable {
    let limit: Duration
    private var waited = Duration.zero

    init(limit: Duration) { self.limit = limit }

    var isOver: Bool { waited >= limit }

    /// A pause is over. One that took far longer than it should counts little: this process was stopped or did not come to run, and
    /// so may the other one.
    mutating func passed(_ time: Duration, of pause: Duration) { waited += min(time, pause * 2) }
  }
}

/// A connection on which the question is asked as soon as the service accepts it.
private final class Asked {
  private let path: String
  private let question: Data
  private var descriptor: Int32?

  init(path: String, question: Data) {
    self.path = path
    self.question = question
  }

  deinit { if let descriptor { close(descriptor) } }

  /// Waits for nothing.
  func isAnswered() -> Bool {
    if descriptor == nil { ask() }
    guard let descriptor else { return false }
    var byte: UInt8 = 0
    // 0: the service has closed the connection.
    return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) >= 0 || errno != EAGAIN && errno != EINTR
  }

  private func ask() {
    // Tried again later: many connections may wait.
    guard let connected = try? UnixListener.connect(path) else { return }
    descriptor = connected
    question.withUnsafeBytes { bytes in
      _ = send(connected, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
  }
}
