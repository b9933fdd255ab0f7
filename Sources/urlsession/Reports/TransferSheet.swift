import CommandLineOutput
import Foundation
import TransferProtocol

/// The output of `show`: a line for everything that is known.
enum TransferSheet {
  /// Of how many tries it tells: the latest.
  private static let tries = 5

  static func lines(_ report: TransferReport, tries: [TransferTry] = [], now: Date = Date()) -> [String] {
    var rows: [(String, String?)] = [
      ("Transfer", "\(report.transfer)"),
      ("URL", report.url),
      ("State", report.stateWord),
      (report.isUpload ? "File" : "To", report.destination),
      ("File", report.path),
      (report.isUpload ? "Sent" : "Received", report.isReceivedKnown ? received(report) : nil),
      ("HTTP status", report.httpStatus.map(String.init)),
    ]
    if let waiting = report.waiting, report.outcome == nil {
      rows.append(("Waits because", waiting.sentence))
      rows.append(
        (WaitingText.nextLabel(waiting), waiting.nextAttempt.map { moment($0, now: now) } ?? "when that has changed"))
    }
    if let absence = report.absence, report.outcome == nil { rows.append(("Removal", AbsenceText.text(absence))) }
    if !report.limits.isEmpty, report.outcome == nil { rows.append(("Limits", LimitText.text(report.limits))) }
    rows += [
      ("Failed attempts", "\(report.failedAttempts)"),
      ("Error", report.failure?.message),
      ("Asked for", moment(report.created, now: now)),
      ("Over", report.finished.map { moment($0, now: now) }),
      ("App", report.app),
      ("Session", report.session),
    ]
    for (index, one) in tries.enumerated().suffix(TransferSheet.tries) {
      rows.append(("Try \(index + 1)", text(one)))
    }
    if tries.isEmpty, hasRun(report) { rows.append(("Tries", "none since the transfer service was started")) }
    let told = rows.compactMap { name, value in value.map { (name, $0) } }
    let width = told.map(\.0.count).max() ?? 0
    return told.map { name, value in
      "\(name): \(String(repeating: " ", count: width - name.count))\(TextTable.printable(value))"
    }
  }

  /// Whether it was tried and is not over, as far as a service that runs knows: it remembers no tries of earlier services.
  private static func hasRun(_ report: TransferReport) -> Bool {
    report.outcome == nil && report.waiting?.code != TransferReport.withoutServiceCode
      && (report.received > 0 || report.failedAttempts > 0)
  }

  private static func received(_ report: TransferReport) -> String {
    let received = ByteFormat.bytes(report.received)
    guard let total = report.total, let fraction = report.fraction else { return received }
    return "\(received) of \(ByteFormat.bytes(total)) (\(Int(fraction * 100))%)"
  }

  /// `2026-03-01T12:00:00Z, status 206, 2.0 MiB in 4.1 s: lookup 2 ms, connect 1 ms, wait 80 ms, response 4.0 s`
  private static func text(_ one: TransferTry) -> String {
    let parts = [
      one.began.formatted(.iso8601), one.httpStatus.map { "status \($0)" } ?? "no response",
      "\(ByteFormat.bytes(one.sent ?? one.received))\(one.sent == nil ? "" : " sent") in \(elapsed(one.duration))",
    ]
    let phases = (one.phases ?? []).map { "\($0.name == "tls" ? "TLS" : $0.name) \(elapsed($0.duration))" }
    return parts.joined(separator: ", ") + (phases.isEmpty ? "" : ": " + phases.joined(separator: ", "))
  }

  private static func elapsed(_ seconds: Double) -> String {
    seconds < 1 ? "\(Int((max(0, seconds) * 1_000).rounded())) ms" : ByteFormat.elapsed(seconds)
  }

  /// `2026-03-01T12:00:00Z (3:05 ago)`
  private static func moment(_ date: Date, now: Date) -> String {
    let seconds = date.timeIntervalSince(now)
    let distance = ByteFormat.duration(abs(seconds))
    return "\(date.formatted(.iso8601)) (\(seconds > 0 ? "in \(distance)" : "\(distance) ago"))"
  }
}
