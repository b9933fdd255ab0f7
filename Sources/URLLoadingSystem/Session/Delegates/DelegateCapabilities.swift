import Foundation
import Synchronization

/// The methods that a delegate class was found to lack.
///
/// Nothing is known at first. A call to a lacking method reaches the default implementation, which calls
/// `noteMissing`; the caller looks here afterwards and asks the next delegate. Later calls are skipped.
final class DelegateCapabilities: Sendable {
  private let missing = Atomic<UInt64>(0)
  private static let known = Mutex<[ObjectIdentifier: DelegateCapabilities]>([:])

  func lacks(_ method: DelegateMethod) -> Bool { missing.load(ordering: .acquiring) & method.bit != 0 }

  /// True when both forms are known to be left out.
  func lacks(_ question: DelegateQuestion) -> Bool {
    missing.load(ordering: .acquiring) & question.mask == question.mask
  }

  /// The entry of a delegate's dynamic class.
  static func of(_ delegate: any URLSessionDelegate) -> DelegateCapabilities {
    of(type(of: delegate))
  }

  private static func of(_ type: any URLSessionDelegate.Type) -> DelegateCapabilities {
    known.withLock { known in
      let id = ObjectIdentifier(type)
      if let found = known[id] { return found }
      let made = DelegateCapabilities()
      known[id] = made
      return made
    }
  }

  func noteMissing(_ methods: UInt64) {
    guard missing.load(ordering: .relaxed) & methods != methods else { return }
    missing.bitwiseOr(methods, ordering: .releasing)
  }

  /// Called by the default implementations.
  static func noteMissing(_ method: DelegateMethod, of delegate: any URLSessionDelegate) {
    of(delegate).missing.bitwiseOr(method.bit, ordering: .releasing)
  }
}
