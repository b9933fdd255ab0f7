import Synchronization

/// Says once on standard error that a command waits for the transfer service.
final class WaitingNote: Sendable {
  private let isSaid = Mutex(false)

  static let line = "urlsession: the transfer service has not answered yet; waiting for it, or for the next one"
  private static let patience = Duration.seconds(5)

  /// Says it after a while, unless the task is cancelled.
  func begin() -> Task<Void, Never> {
    Task {
      do { try await Task.sleep(for: WaitingNote.patience) } catch { return }
      say()
    }
  }

  /// Says it at once.
  func say() {
    let isNew = isSaid.withLock { isSaid in
      defer { isSaid = true }
      return !isSaid
    }
    guard isNew else { return }
    StandardError.print(WaitingNote.line)
  }
}
