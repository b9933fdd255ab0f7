import Foundation
import TransferProtocol

/// The state of the transfers that a command waits for: a value that is told of every change and says what it means.
struct FollowedTransfers: Sendable {
  private let order: [Int64]
  private var reports: [Int64: TransferReport] = [:]
  private var acknowledged: Set<Int64> = []

  /// - Parameter transfers: Their numbers, in the order in which they are to be reported.
  init(_ transfers: [Int64]) {
    var seen: Set<Int64> = []
    order = transfers.filter { seen.insert($0).inserted }
  }

  /// Returns whether this ended the transfer: it is over and its file is in place.
  mutating func update(_ report: TransferReport) -> Bool {
    guard order.contains(report.transfer), !isOver(report.transfer) else { return false }
    reports[report.transfer] = report
    return isOver(report.transfer)
  }

  func isOver(_ transfer: Int64) -> Bool { reports[transfer]?.outcome != nil }

  var isOver: Bool { order.allSatisfy(isOver) }

  /// Numbers that are not over.
  var open: [Int64] { order.filter { !isOver($0) } }

  /// Numbers of which nothing is known.
  var unknown: [Int64] { order.filter { reports[$0] == nil } }

  /// In the order asked for.
  var all: [TransferReport] { order.compactMap { reports[$0] } }

  /// Bytes of all of them.
  var received: Int64 { all.reduce(0) { $0 + $1.received } }

  /// nil as long as one has an unknown size.
  var total: Int64? {
    guard unknown.isEmpty else { return nil }
    return all.reduce(0) { sum, report in
      // A transfer that is over and brought less than announced (an error page, a failure) counts with what it brought.
      let size = report.outcome == nil ? report.total : report.received
      return sum.flatMap { sum in size.map { sum + $0 } }
    }
  }

  /// `2 of 3 over`, or for a single one `transfer 17`.
  var label: String {
    if order.count == 1, let report = all.first { return "transfer \(report.transfer)" }
    return "\(order.count - open.count) of \(order.count) over"
  }

  /// Why nothing moves; nil when something does or all is over.
  func note(now: Date = Date()) -> String? {
    let open = all.filter { $0.outcome == nil }
    guard !open.isEmpty, !open.contains(where: { $0.state == .running }) else { return nil }
    if let waiting = open.compactMap(\.waiting).first { return "waits: \(WaitingText.text(waiting, now: now))" }
    let complete = open.filter { $0.state == .completed && $0.outcomeAtService == nil }
    if complete.contains(where: { !$0.isUpload }) { return "is complete, its file is being put in place" }
    if !complete.isEmpty { return "is complete, its end is being noted" }
    return open.contains { $0.state == .suspended } ? "is suspended" : nil
  }

  /// The first that did not succeed decides how the command ends.
  var ending: CommandFailure? { all.lazy.compactMap(\.ending).first }
}
