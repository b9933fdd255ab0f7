import Synchronization

/// The start of an app, which is made on another thread: the app may attach by itself until the very moment. From any thread.
final class DueStart: Sendable {
  private let isWithdrawn = Atomic<Bool>(false)

  /// Whether the process is still to be started.
  var isDue: Bool { !isWithdrawn.load(ordering: .acquiring) }

  func withdraw() { isWithdrawn.store(true, ordering: .releasing) }
}
