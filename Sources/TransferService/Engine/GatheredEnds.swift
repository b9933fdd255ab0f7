import Foundation
import SystemServices

/// Transfers whose ends are to be written to the queue. They are gathered for as long as further requests wait, or earlier
/// ends are being written, so that one commit serves many. Those that wait for resume points, or for the key that seals
/// them, hold none of the others up.
struct GatheredEnds {
  /// Callers wait for the answer: no longer than this many seconds, and for no more others than that.
  private static let patience: TimeInterval = 0.1
  private static let limit = 1_000

  private var transfers: [TransferID] = []
  private var oldest: BootInstant?
  /// Ends that were taken are being written.
  private(set) var isWriting = false

  /// Transfers whose resume points are being made, or that wait for the key.
  private var held: Set<TransferID> = []

  var isEmpty: Bool { transfers.isEmpty && held.isEmpty && !isWriting }

  mutating func add(_ transfer: TransferID, at now: BootInstant) {
    if transfers.isEmpty { oldest = now }
    transfers.append(transfer)
  }

  /// - Parameter requestsWait: whether the next turn of the engine follows at once.
  func isDue(requestsWait: Bool, at now: BootInstant) -> Bool {
    guard let oldest, !isWriting else { return false }
    return !requestsWait || transfers.count >= GatheredEnds.limit || now - oldest >= GatheredEnds.patience
  }

  /// As many as belong into one commit. `written` has to follow.
  mutating func take() -> [TransferID] {
    let taken = Array(transfers.prefix(GatheredEnds.limit))
    transfers.removeFirst(taken.count)
    if transfers.isEmpty { oldest = nil }
    isWriting = true
    return taken
  }

  mutating func written() { isWriting = false }

  /// Transfers that were taken and are not written yet. `release` has to follow.
  mutating func hold(_ transfers: [TransferID]) { held.formUnion(transfers) }

  /// They are not written in this life of the service.
  mutating func giveUp(_ transfers: [TransferID]) { held.subtract(transfers) }

  mutating func release(_ transfers: [TransferID], at now: BootInstant) {
    held.subtract(transfers)
    for transfer in transfers { add(transfer, at: now) }
  }
}
