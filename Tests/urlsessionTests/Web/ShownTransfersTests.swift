import Testing
import TransferProtocol

@testable import urlsession

/// Which transfers the web page shows.
@Suite struct ShownTransfersTests {
  private func report(_ number: Int64, isOver: Bool, received: Int64 = 0) -> TransferReport {
    var report = TransferReport(Sample.status(number, isOver ? .completed : .running, received: received, total: 10))
    report.outcome = isOver ? .saved : nil
    return report
  }

  private static let maximum = Int64(ShownTransfers.maximumOver)

  @Test func transfersThatAreOverMakeRoomForLaterOnes() {
    var shown = ShownTransfers()
    #expect(shown.update(report(1, isOver: false)).change == .new)
    for number in 2...Self.maximum + 1 { #expect(shown.update(report(number, isOver: true)).removed.isEmpty) }
    // The one that ended first goes; the one that is under way stays, however old it is.
    #expect(shown.update(report(Self.maximum + 2, isOver: true)).removed == [2])
    #expect(shown.reports.count == Int(Self.maximum) + 1 && shown.reports[1] != nil && shown.reports[2] == nil)
    #expect(shown.update(report(1, isOver: true)).removed == [3])
  }

  @Test func aTransferThatMadeRoomIsNotShownAgain() {
    var shown = ShownTransfers()
    for number in 1...Self.maximum + 1 { _ = shown.update(report(number, isOver: true)) }
    let (change, removed) = shown.update(report(1, isOver: true))
    #expect(change == .ignored && removed.isEmpty && shown.reports[1] == nil)
  }

  @Test func aChangeComesWithWhatWasBefore() {
    var shown = ShownTransfers()
    let (first, second) = (report(1, isOver: false, received: 1), report(1, isOver: false, received: 2))
    _ = shown.update(first)
    #expect(shown.update(second).change == .changed(from: first))
    #expect(shown.all == [second])
  }

  @Test func aListTakesThePlaceOfAll() {
    var shown = ShownTransfers()
    _ = shown.update(report(1, isOver: false))
    let ended = (2...Self.maximum + 9).map { report($0, isOver: true) }
    shown.replaceAll(ended + [report(500, isOver: false)])
    #expect(shown.all.map(\.transfer) == Array(10...Self.maximum + 9) + [500])
    #expect(shown.update(report(501, isOver: true)).removed == [10])
  }
}
