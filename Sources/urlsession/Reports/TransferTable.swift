import CommandLineOutput
import Foundation

/// The output of `list`.
enum TransferTable {
  static func lines(_ reports: [TransferReport], now: Date = Date()) -> [String] {
    var table = TextTable([
      .init("ID", .right), .init("STATE"), .init("DONE", .right), .init("SIZE", .right), .init("RATE", .right),
      .init("APP"), .init("FILE"), .init("WHY"),
    ])
    for report in reports {
      table.append([
        "\(report.transfer)", report.stateWord, done(report), report.total.map(ByteFormat.bytes) ?? "-",
        report.rate.map(ByteFormat.rate) ?? "-", app(report), file(report), why(report, now: now),
      ])
    }
    return table.lines
  }

  private static func done(_ report: TransferReport) -> String {
    guard report.isReceivedKnown else { return "-" }
    return report.fraction.map { "\(Int($0 * 100))%" } ?? ByteFormat.bytes(report.received)
  }

  private static func app(_ report: TransferReport) -> String {
    report.app.map { ($0 as NSString).lastPathComponent } ?? "-"
  }

  /// The place where it is, or is to go.
  private static func file(_ report: TransferReport) -> String { report.path ?? report.destination ?? report.url }

  private static func why(_ report: TransferReport, now: Date) -> String {
    let cause = cause(report, now: now)
    guard report.outcome == nil, let absence = report.absence else { return cause }
    return cause.isEmpty ? AbsenceText.text(absence) : "\(cause); \(AbsenceText.text(absence))"
  }

  private static func cause(_ report: TransferReport, now: Date) -> String {
    if report.outcome == nil, let waiting = report.waiting { return WaitingText.text(waiting, now: now) }
    if report.outcome == nil, !report.limits.isEmpty { return "limited: \(LimitText.text(report.limits))" }
    return report.outcome == .saved ? "" : report.failure?.message ?? ""
  }
}
