import Foundation
import SystemServices

/// Cancelled transfers whose ends are to be written to the queue. They are gathered for as long as further requests wait,
/// so that one commit serves many: an app that cancels ten thousand tasks sends ten thousand requests.
struct CancelledEnds {
  /// Callers wait for the answer: no longer than this many seconds, and for no more others than that.
  private static let patience: TimeInterval = 0.1
  private static let limit = 1_000

  private var transfers: [TransferID] = []
  private var new: [TransferID] = []
  private var oldest: BootInstant?

  mutating func add(_ transfer: TransferID, at now: BootInstant) {
    if transfers.isEmpty { oldest = now }
    transfers.append(transfer)
    new.append(transfer)
  }

  /// - Parameter requestsWait: whether the next turn of the engine follows at once.
  func isDue(requestsWait: Bool, at now: BootInstant) -> Bool {
    guard let oldest else { return false }
    return !requestsWait || transfers.count >= CancelledEnds.limit || now - oldest >= CancelledEnds.patience
  }

  /// Those that were added since this was called last.
  mutating func takeNew() -> [TransferID] {
    defer { new = [] }
    return new
  }

  /// All of them.
  mutating func take() -> [TransferID] {
    defer { (transfers, new, oldest) = ([], [], nil) }
    return transfers
  }
}
