import Foundation
import Synchronization

/// Keeps the machine from sleeping before this service is ready: a descriptor of logind, which waits until all such are closed,
/// five seconds at most where it is not set up otherwise (`InhibitDelayMaxSec`).
final class SleepLock: Sendable {
  private let descriptor: Mutex<Int32?>

  /// - Parameter descriptor: is closed by `release`, or with the lock.
  init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

  deinit { release() }

  func release() {
    let descriptor = descriptor.withLock { $0.take() }
    if let descriptor { close(descriptor) }
  }
}
