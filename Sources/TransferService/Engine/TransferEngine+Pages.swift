import Foundation
import TransferProtocol

/// Lists of transfers, cut into pages that fit into a message.
extension TransferEngine {
  /// Well below the longest message, whatever the requests weigh.
  private static let pageWeight = 2 << 20
  private static let pageLength = 500

  func taskPage(session: SessionID, after: Int) throws -> TaskPage {
    let stored = try store.sessionTransfers(session, after: after, limit: TransferEngine.pageLength + 1)
      .map(shown)
    let fitting = TransferEngine.fitting(stored, weight: \.weight)
    return TaskPage(
      tasks: fitting.map(snapshot), next: fitting.count < stored.count ? fitting.last?.head.taskIdentifier : nil)
  }

  func page(of list: ListTransfers, reach: Reach) throws -> TransferPage {
    let listed = try store.appTransfers(
      reach.app, after: list.after, includingFinished: list.includesFinished, limit: TransferEngine.pageLength + 1)
    let fitting = TransferEngine.fitting(listed, weight: \.weight)
    var page = TransferPage(transfers: fitting.map(status), next: fitting.count < listed.count ? fitting.last?.id : nil)
    let limits = bandwidth.limits(of: .service).limits
    page.limits = limits.isEmpty ? nil : limits
    return page
  }

  func page(of ids: [TransferID]) throws -> TransferPage {
    let stored = try ids.prefix(TransferEngine.pageLength).compactMap { try store.transfer($0) }
    return TransferPage(transfers: TransferEngine.fitting(stored, weight: \.weight).map(status))
  }

  func snapshot(_ stored: StoredTransfer) -> TransferSnapshot {
    let stored = shown(stored)
    return TransferSnapshot(description: stored.description, status: status(stored), response: stored.response)
  }

  /// The transfer, when it is in reach. Whether one of another app exists is not told.
  func reached(_ id: TransferID, by reach: Reach) throws -> StoredTransfer {
    guard let stored = try store.transfer(id), reach.includes(stored.app) else {
      throw Refusal(.unknownTask, "There is no transfer \(id).")
    }
    return stored
  }

  /// The first ones that fit into one message; at least one.
  private static func fitting<Transfer>(
    _ transfers: [Transfer], weight: (Transfer) -> Int
  ) -> ArraySlice<Transfer> {
    var (sum, count) = (0, 0)
    for transfer in transfers.prefix(pageLength) {
      sum += weight(transfer)
      if sum > pageWeight, count > 0 { break }
      count += 1
    }
    return transfers.prefix(count)
  }
}
