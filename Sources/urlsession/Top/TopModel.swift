import CommandLineOutput
import Foundation
import TransferProtocol

/// The live view as a value: it is told of transfers and keys, and says what is to be asked of the service.
struct TopModel: Sendable {
  struct Row: Sendable {
    var report: TransferReport
    var meter = ProgressMeter()
    /// Seconds on the view's clock; nil until it is over.
    var ended: Double?

    var rate: Double { report.state == .running ? meter.bytesPerSecond : 0 }
  }

  enum Action: Sendable, Equatable {
    case pause(Int64), resume(Int64), retry(Int64), cancel(Int64)
    case limit(Int64, BandwidthLimit)
    case quit
  }

  /// How long a transfer that is over stays in the view, in seconds.
  static let afterglow = 30.0

  private var all: [Int64: Row] = [:]
  private(set) var selected: Int64?
  /// The transfer that a key wants to cancel; the next key confirms it.
  private(set) var asksToCancel: Int64?
  /// The rate that is being typed.
  private(set) var limitPrompt: TopLimitPrompt?
  /// In place of the keys, until the next key.
  var message: String?
  /// Why there is no news; nil while the service answers.
  private(set) var absence: String?

  /// Those that run come first, those that are over last; otherwise the oldest first.
  var rows: [Row] {
    all.values.sorted { one, other in
      let ranks = (TopModel.rank(one), TopModel.rank(other))
      return ranks.0 != ranks.1 ? ranks.0 < ranks.1 : one.report.transfer < other.report.transfer
    }
  }

  private static func rank(_ row: Row) -> Int {
    if row.ended != nil { return 2 }
    return row.report.state == .running ? 0 : 1
  }

  var selectedRow: Row? { selected.flatMap { all[$0] } }

  /// - Parameter time: seconds on the view's clock.
  mutating func update(_ report: TransferReport, at time: Double) {
    var row = all[report.transfer] ?? Row(report: report)
    row.report = report
    if report.outcome == nil {
      row.ended = nil
      row.meter.update(done: report.received, total: report.total, at: time)
    } else if row.ended == nil {
      row.ended = time
    }
    all[report.transfer] = row
    if selected == nil { selected = report.transfer }
  }

  /// The transfers that there are, at the beginning of a connection: others are forgotten.
  mutating func replace(_ reports: [TransferReport], at time: Double) {
    let known = Set(reports.map(\.transfer))
    all = all.filter { known.contains($0.key) || $0.value.ended != nil }
    for report in reports { update(report, at: time) }
    keepSelection()
  }

  mutating func serviceAnswers() { absence = nil }

  /// The transfers that ran do not run any more, as far as is known.
  mutating func serviceIsAbsent(_ reason: String, isRunning: Bool) {
    absence = reason
    for (transfer, row) in all where row.ended == nil {
      var report = row.report
      if report.state == .running { (report.state, report.rate) = (.waiting, nil) }
      if !isRunning { report = report.withoutService() }
      all[transfer] = Row(report: report)
    }
  }

  mutating func timePassed(to time: Double) {
    all = all.filter { row in row.value.ended.map { time - $0 < TopModel.afterglow } ?? true }
    keepSelection()
  }

  private mutating func keepSelection() {
    if let selected, all[selected] != nil { return }
    selected = rows.first?.report.transfer
  }

  /// - Parameter page: how many rows there are on the screen.
  mutating func handle(_ key: TopKey, page: Int) -> Action? {
    message = nil
    if limitPrompt != nil { return typeLimit(key) }
    if let transfer = asksToCancel {
      asksToCancel = nil
      return key == .character("y") ? .cancel(transfer) : nil
    }
    switch key {
    case .up, .character("k"): move(by: -1)
    case .down, .character("j"): move(by: 1)
    case .pageUp: move(by: -max(1, page))
    case .pageDown: move(by: max(1, page))
    case .character("q"), .interrupt: return .quit
    case .character("p"): return openForKey().map { .pause($0) }
    case .character("r"): return openForKey().map { .resume($0) }
    case .character("t"): return openForKey().map { .retry($0) }
    case .character("c"): asksToCancel = openForKey()
    case .character("l"): limitPrompt = openForKey().map { TopLimitPrompt(transfer: $0) }
    case .character, .enter, .backspace, .escape: break
    }
    return nil
  }

  private mutating func typeLimit(_ key: TopKey) -> Action? {
    guard var prompt = limitPrompt else { return nil }
    limitPrompt = nil
    switch prompt.handle(key) {
    case .typing: limitPrompt = prompt
    case .given(let limit): return .limit(prompt.transfer, limit)
    case .refused(let sentence): message = sentence
    case .left: break
    }
    return nil
  }

  /// nil where a key can't do anything, which the message then says.
  private mutating func openForKey() -> Int64? {
    guard let row = selectedRow else { return nil }
    let transfer = row.report.transfer
    guard row.ended != nil else { return transfer }
    let begin = row.report.beginsAgain ? "; `urlsession retry \(transfer)` begins it again" : ""
    message = "Transfer \(transfer) is over\(begin)."
    return nil
  }

  private mutating func move(by step: Int) {
    let rows = rows
    guard let index = rows.firstIndex(where: { $0.report.transfer == selected }) else { return }
    selected = rows[min(max(0, index + step), rows.count - 1)].report.transfer
  }
}
