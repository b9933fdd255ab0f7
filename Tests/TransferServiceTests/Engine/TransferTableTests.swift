import Foundation
import Testing

@testable import TransferService

@Suite struct TransferTableTests {
  private func transfer(_ id: TransferID) -> LiveTransfer {
    LiveTransfer(
      StoredTransferHead(
        id: id, session: 1, taskIdentifier: Int(id), state: .active, host: "h", priority: 0.5, committedOffset: 0,
        expectedTotal: -1, failures: 0))
  }

  @Test func countsActiveAndBusyTransfers() {
    var table = TransferTable()
    let moment = TransferMachineTests.moment
    for id in 1...3 { table.insert(transfer(TransferID(id))) }
    #expect(table.activeCount == 0 && table.busyCount == 0)
    for id in 1...2 { _ = table.handle(.queued(delay: nil), for: TransferID(id), at: moment) }
    _ = table.handle(.chosen(.start(TransferMachineTests.start)), for: 1, at: moment)
    #expect(table.activeCount == 2 && table.busyCount == 1)
    table.update(1) { $0.received = 5 }
    #expect(table[1]?.received == 5 && table.activeCount == 2 && table.busyCount == 1)
    table.insert(transfer(2))
    #expect(table.activeCount == 1)
    table.remove(1)
    #expect(table.activeCount == 0 && table.busyCount == 0 && table.ids == [2, 3])
    #expect(table.handle(.resumed, for: 9, at: moment) == [])
  }
}
