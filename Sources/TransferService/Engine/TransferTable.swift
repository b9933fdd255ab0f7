/// The transfers that are not over.
struct TransferTable {
  private var transfers: [TransferID: LiveTransfer] = [:]
  /// How many are active, and how many of them run or are being imported.
  private(set) var activeCount = 0
  private(set) var busyCount = 0
  /// Those that are known to be able to wait.
  private var waitable: Set<TransferID> = []

  var hasDiscretionary: Bool { !waitable.isEmpty }
  var discretionary: [TransferID] { waitable.sorted() }

  var ids: [TransferID] { transfers.keys.sorted() }

  subscript(id: TransferID) -> LiveTransfer? { transfers[id] }

  mutating func insert(_ transfer: LiveTransfer) {
    remove(transfer.id)
    transfers[transfer.id] = transfer
    count(transfer, 1)
  }

  @discardableResult
  mutating func remove(_ id: TransferID) -> LiveTransfer? {
    guard let transfer = transfers.removeValue(forKey: id) else { return nil }
    count(transfer, -1)
    return transfer
  }

  mutating func update(_ id: TransferID, _ change: (inout LiveTransfer) -> Void) {
    guard let index = transfers.index(forKey: id) else { return }
    count(transfers.values[index], -1)
    change(&transfers.values[index])
    count(transfers.values[index], 1)
  }

  mutating func handle(_ event: TransferMachine.Event, for id: TransferID, at moment: Moment)
    -> [TransferMachine.Action]
  {
    var actions: [TransferMachine.Action] = []
    update(id) { actions = $0.machine.handle(event, at: moment) }
    return actions
  }

  private mutating func count(_ transfer: LiveTransfer, _ change: Int) {
    if transfer.machine.isActive { activeCount += change }
    if transfer.machine.isBusy { busyCount += change }
    guard transfer.discretion?.cause != nil else { return }
    if change > 0 { waitable.insert(transfer.id) } else { waitable.remove(transfer.id) }
  }
}
