import CLinux
import Synchronization

/// A terminal that does not show what is typed on it.
package enum HiddenTyping {
  private static let lock = Mutex(())

  /// Calls `body` while `terminal` shows nothing of what is typed. It shows it again afterwards, also where the program
  /// exits meanwhile, or a signal ends it in the default way. One call at a time.
  ///
  /// - Returns: nil where the descriptor is of no terminal.
  package static func on<Result>(_ terminal: Int32, _ body: () -> Result?) -> Result? {
    lock.withLock { _ in
      guard clinux_hide_typing(terminal) == 0 else { return nil }
      defer { clinux_show_typing() }
      return body()
    }
  }
}
