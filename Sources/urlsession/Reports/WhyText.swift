import CommandLineOutput
import Foundation
import TransferProtocol

/// The output of `why`: what a transfer does, or why it does not, and what comes next.
enum WhyText {
  static func sentence(_ report: TransferReport, now: Date = Date()) -> String {
    var words = words(report, now: now)
    if let absence = report.absence, report.outcome == nil {
      let text = AbsenceText.text(absence)
      words += " \(text.prefix(1).uppercased())\(text.dropFirst())."
    }
    return "Transfer \(report.transfer) \(TextTable.printable(words))"
  }

  private static func words(_ report: TransferReport, now: Date) -> String {
    switch report.outcomeAtService {
    case .saved where report.isUpload: return "is sent."
    case .saved: return report.isOfOtherApp ? "is complete." : "is saved as \(report.path ?? "a file")."
    case .savedElsewhere:
      return "is saved as \(report.path ?? "a file"), since its destination failed: \(cause(report))"
    case .httpError: return "is over: the server answered \(report.httpStatus ?? 0).\(again(report))"
    case .failed: return "failed: \(cause(report))\(again(report))"
    case .cancelled: return "was cancelled.\(again(report))"
    case nil, .queued, .placing: break
    }
    switch report.state {
    case .running:
      let limits = report.limits.isEmpty ? "" : " Limits: \(LimitText.text(report.limits))."
      return "runs: \(progress(report))\(report.failedAttempts > 0 ? attempts(report) : "")\(limits)"
    case .completed where report.isUpload: return "is complete; its app has not been told yet."
    case .completed: return "is complete; its file waits for the app, which puts it in its place."
    case .suspended, .waiting, .other: break
    }
    guard let waiting = report.waiting else {
      return report.state == .suspended ? "is suspended by its app." : "waits for its turn."
    }
    if waiting.code == TransferReport.pausedCode {
      let goesOn = report.state == .suspended ? "; its app has suspended it, too" : ""
      return "is paused by the user\(goesOn). `urlsession resume \(report.transfer)` lets it go on."
    }
    if waiting.code == TransferReport.setAsideCode {
      let suspended = report.state == .suspended ? " Its app has suspended it, too." : ""
      return "stands still. \(waiting.sentence)\(suspended)"
    }
    var sentence = "waits. \(waiting.sentence)"
    if !sentence.hasSuffix(".") { sentence += "." }
    if let next = waiting.nextAttempt {
      let left = next.timeIntervalSince(now)
      sentence += " \(WaitingText.next(waiting)) \(left < 1 ? "now" : "in \(ByteFormat.duration(left))")."
    }
    return sentence
  }

  private static func again(_ report: TransferReport) -> String {
    report.beginsAgain ? " `urlsession \(report.again)` begins it again." : ""
  }

  private static func cause(_ report: TransferReport) -> String {
    let message = report.failure?.message ?? "the reason is not known"
    return message.hasSuffix(".") ? message : message + "."
  }

  private static func progress(_ report: TransferReport) -> String {
    let done = ByteFormat.bytes(report.received)
    let verb = report.isUpload ? "have been sent" : "have arrived"
    guard let total = report.total, let fraction = report.fraction else { return "\(done) \(verb)." }
    return "\(done) of \(ByteFormat.bytes(total)) \(verb) (\(Int(fraction * 100))%)."
  }

  private static func attempts(_ report: TransferReport) -> String {
    report.failedAttempts == 1 ? " The last try failed." : " The last \(report.failedAttempts) tries failed."
  }
}
