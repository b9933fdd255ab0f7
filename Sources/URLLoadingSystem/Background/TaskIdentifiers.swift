import Foundation
import Synchronization

/// The identifiers of a background session's new tasks. They come from the service, which counts on over the processes of
/// an app, once the session is attached to it. A factory does not wait for that: until then they come from a block that
/// this process begins at the present time, in units of a thousandth of a millisecond, so that no other process of the
/// app has the same (`Docs/Decisions/0061-task-identifiers-without-waiting.md`).
final class TaskIdentifiers: Sendable {
  private let next = Mutex<Int?>(nil)
  private let date: @Sendable () -> Date

  init(date: @escaping @Sendable () -> Date = { Date() }) { self.date = date }

  /// Never waits.
  func reserve() -> Int {
    next.withLock { next in
      let identifier = next ?? TaskIdentifiers.block(at: date())
      next = identifier + 1
      return identifier
    }
  }

  /// The service counts on from `identifier`. Numbers that were reserved already count on from their block.
  func raise(to identifier: Int) { next.withLock { $0 = max($0 ?? 1, identifier) } }

  /// Below 2⁵³, so that every reader of JSON keeps it, for the next two centuries.
  private static func block(at date: Date) -> Int {
    let milliseconds = min(max(date.timeIntervalSince1970 * 1_000, 1), 8e12)
    return Int(milliseconds) << 10
  }
}
