import Foundation
import TransferProtocol

/// Lists of transfers, cut into pages that fit into a message.
extension TransferEngine {
  /// Well below the longest message, whatever the requests weigh.
  private static let pageWeight = 2 << 20
  private static let pageLength = 500

  func taskPage(session: SessionID, after: Int) throws -> TaskPage {
    let stored = try store.sessionTransfers(session, after: after, limit: TransferEngine.pageLength + 1)
    let fitting = try TransferEngine.fitting(stored)
    return TaskPage(
      tasks: fitting.map(snapshot), next: fitting.count < stored.count ? fitting.last?.head.taskIdentifier : nil)
  }

  func transferPage(app: AppID, after: TransferID, includingFinished: Bool) throws -> TransferPage {
    let stored = try store.appTransfers(
      app, after: after, includingFinished: includingFinished, limit: TransferEngine.pageLength + 1)
    let fitting = try TransferEngine.fitting(stored)
    return TransferPage(
      transfers: fitting.map(status), next: fitting.count < stored.count ? fitting.last?.head.id : nil)
  }

  /// - Parameter ids: of transfers of the app; nil for all that are not over.
  func watched(_ ids: [TransferID]?, app: AppID) throws -> TransferPage {
    guard let ids else { return try transferPage(app: app, after: 0, includingFinished: false) }
    let stored = try ids.prefix(TransferEngine.pageLength).compactMap { try store.transfer($0) }
    return TransferPage(transfers: try TransferEngine.fitting(stored).map(status))
  }

  func snapshot(_ stored: StoredTransfer) -> TransferSnapshot {
    TransferSnapshot(description: stored.description, status: status(stored), response: stored.response)
  }

  /// The transfer, when it belongs to this app. Whether one of another app exists is not told.
  func owned(_ id: TransferID, by app: AppID) throws -> StoredTransfer {
    guard let stored = try store.transfer(id), stored.app == app else {
      throw Refusal(.unknownTask, "There is no transfer \(id).")
    }
    return stored
  }

  /// The first ones that fit into one message; at least one.
  private static func fitting(_ stored: [StoredTransfer]) throws -> [StoredTransfer] {
    var weight = 0
    var fitting: [StoredTransfer] = []
    for transfer in stored.prefix(pageLength) {
      weight += try MessageFraming.encode(transfer.description).count + MessageFraming.encode(transfer.response).count
      if weight > pageWeight, !fitting.isEmpty { break }
      fitting.append(transfer)
    }
    return fitting
  }
}
