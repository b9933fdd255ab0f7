import TransferProtocol

/// The transfers that the web page shows: all that are not over, and the latest of those that are. A page is no archive.
struct ShownTransfers: Sendable {
  static let maximumOver = 100

  private(set) var reports: [Int64: TransferReport] = [:]
  /// The numbers of those that are over, as they ended.
  private var over: [Int64] = []
  /// Numbers grow, so an unknown one that is not above this was shown and is no longer.
  private var highest: Int64 = 0

  enum Change: Equatable {
    /// It was not known before.
    case new
    case changed(from: TransferReport)
    /// It is over since long, and is not shown again.
    case ignored
  }

  var all: [TransferReport] { reports.values.sorted { $0.transfer < $1.transfer } }

  /// In place of all.
  mutating func replaceAll(_ all: [TransferReport]) {
    let ended = all.filter { $0.outcome != nil }.sorted { $0.transfer < $1.transfer }.suffix(Self.maximumOver)
    reports = Dictionary((all.filter { $0.outcome == nil } + ended).map { ($0.transfer, $0) }) { $1 }
    over = ended.map(\.transfer)
    highest = max(highest, all.map(\.transfer).max() ?? 0)
  }

  /// - Returns: Also the numbers of the transfers that this one takes the places of.
  mutating func update(_ report: TransferReport) -> (change: Change, removed: [Int64]) {
    let before = reports[report.transfer]
    if before == nil, report.outcome != nil, report.transfer <= highest { return (.ignored, []) }
    highest = max(highest, report.transfer)
    reports[report.transfer] = report
    if before?.outcome == nil, report.outcome != nil { over.append(report.transfer) }
    let removed = Array(over.prefix(max(0, over.count - Self.maximumOver)))
    over.removeFirst(removed.count)
    for number in removed { reports[number] = nil }
    return (before.map { .changed(from: $0) } ?? .new, removed)
  }
}
