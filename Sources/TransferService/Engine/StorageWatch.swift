import Foundation
import SystemServices

/// Whether the service's folders and its queue can be used, as far as is known.
struct StorageWatch: Sendable, Equatable {
  /// Why they can't be used; nil while they can.
  private(set) var fault: String?
  private var since: BootInstant?
  /// Seconds that a folder which is gone has to come back before it is made again.
  private static let patience: TimeInterval = 60

  var isAvailable: Bool { fault == nil }

  mutating func failed(_ sentence: String, at now: BootInstant) {
    if fault == nil { since = now }
    fault = sentence
  }

  mutating func recovered() {
    fault = nil
    since = nil
  }

  /// Whether folders that are gone are made again, at the price of what was in them.
  func replacesLostFolders(at now: BootInstant) -> Bool { since.map { now - $0 >= Self.patience } ?? false }
}
