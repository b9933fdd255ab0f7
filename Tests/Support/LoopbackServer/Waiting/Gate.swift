/// A one-shot event: closed at first, opened once, open for ever. Lets a test order what happens on a server, in a
/// delegate and in itself without a sleep.
package final class Gate: Sendable {
  private let monitor = Monitor(false)

  package init() {}

  package var isOpen: Bool { monitor.current }

  /// Opens the gate; everyone waiting goes on. Opening it again does nothing.
  package func open() {
    monitor.update { $0 = true }
  }

  /// Returns when the gate is open. Throws `CancellationError` when the task is cancelled first.
  package func wait() async throws {
    _ = try await monitor.wait { $0 ? true : nil }
  }

  /// Returns when the gate is open; throws ``WaitExpired`` when that takes longer than `limit`.
  package func wait(within limit: Duration) async throws {
    try await within(limit, "a gate to open") { try await self.wait() }
  }
}
