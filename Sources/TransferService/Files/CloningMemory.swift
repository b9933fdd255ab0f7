import Synchronization

/// Remembers that the file system of the service's folders makes no clones, so that it is not asked with each file. May be
/// used from any thread.
final class CloningMemory: Sendable {
  private let makesClones = Atomic<Bool>(true)

  /// - Parameter clone: tries to make one; false where the file system can't.
  func remembered(_ clone: () throws -> Bool) rethrows -> Bool {
    guard makesClones.load(ordering: .relaxed) else { return false }
    let isMade = try clone()
    if !isMade { makesClones.store(false, ordering: .relaxed) }
    return isMade
  }
}
