import TransferProtocol

/// The latest requests of the latest transfers, for the metrics of their tasks. In memory alone, as the tries are: a new
/// service knows none of an earlier one's.
struct TransferTransactions: Sendable {
  /// Of how many transfers they are kept.
  static let transfers = 256

  private var entries: [TransferID: [TransactionDescription]] = [:]
  /// By their first requests, for forgetting the oldest.
  private var order: [TransferID] = []

  mutating func add(_ transactions: [TransactionDescription], of id: TransferID) {
    guard !transactions.isEmpty else { return }
    if entries[id] == nil {
      order.append(id)
      if order.count > TransferTransactions.transfers { entries[order.removeFirst()] = nil }
    }
    entries[id] = ((entries[id] ?? []) + transactions).suffix(TransactionDescription.maximumCount)
  }

  /// Oldest first; nil where there are none.
  func latest(_ id: TransferID) -> [TransactionDescription]? { entries[id] }

  mutating func forget(_ id: TransferID) {
    guard entries.removeValue(forKey: id) != nil else { return }
    order.removeAll { $0 == id }
  }
}
