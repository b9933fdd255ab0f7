import CommandLineOutput
import Foundation
import TransferProtocol
import URLLoadingSystem

/// A transfer that the service does not have any more, or that is over without its file and is one of this program.
struct EndedTransfer: Sendable, Equatable {
  let report: TransferReport
  /// Of this program; nil where there is none.
  let record: DownloadRecord?

  /// nil for any other transfer.
  init?(_ report: TransferReport, _ record: DownloadRecord?) {
    guard report.isLost || record.map({ EndedTransfer.hasFailed(report, $0) }) == true else { return nil }
    (self.report, self.record) = (report, record)
  }

  /// nil for any other transfer.
  init?(_ status: TransferStatus, in records: RecordStore) {
    // Before this program has taken its end, too.
    var report = TransferReport(status, in: records)
    report.outcome = report.outcomeAtService
    self.init(report, report.isOfOtherApp ? nil : records.read(status.session)?.found)
  }

  private init(report: TransferReport, record: DownloadRecord) { (self.report, self.record) = (report, record) }

  private static func hasFailed(_ report: TransferReport, _ record: DownloadRecord) -> Bool {
    switch record.outcome == .queued ? report.outcome : record.outcome {
    case .failed, .cancelled, .httpError: true
    case nil, .queued, .placing, .saved, .savedElsewhere: false
    }
  }

  /// Hands it over once more: from the bytes that it had when it failed, where they are kept, else from its first one.
  ///
  /// - Returns: the sentence that says so.
  /// - Throws: `CommandFailure` where its request is not known, or the service does not take it.
  func beginAgain() async throws -> String {
    let state = try DownloadNote.usualState()
    let store = RecordStore(state: state)
    guard let former = record, former.canBeginAgain else { throw refusal }
    guard let lock = try store.lock(former.session) else { throw refused(because: "another command begins it again") }
    defer { withExtendedLifetime(lock) {} }
    if former.outcome == .queued, !report.isLost { try await takeEnd(store) }
    // Another command may have begun it meanwhile.
    let record = store.read(former.session) ?? former
    guard record.canBeginAgain, let url = URL(string: record.url) else {
      throw EndedTransfer(report: report, record: record).refusal
    }
    try record.destination.checkFolder()
    let kept = KeptBytes(state: state).resumeData(of: record)
    let order = BackgroundOrder(
      request: RequestOptions.plainRequest(for: url), destination: record.destination,
      priority: URLSessionTask.defaultPriority,
      notifies: record.notifies == true, retry: record.retry, isOfURLAlone: true, resumeData: kept)
    let download = try await BackgroundDownload.start(order)
    _ = try? store.update(record.session) {
      $0.map { EndedTransfer.ended($0, as: download.transfer, isLost: report.isLost) }
    }
    download.leave()
    let from = kept == nil ? "" : ", from what had arrived"
    return "\(report.isLost ? "lost" : report.stateWord); begun again as transfer \(download.transfer)\(from)"
  }

  /// Returns when the record has the end, and with it what had arrived.
  private func takeEnd(_ store: RecordStore) async throws {
    let follower = TransferFollower(progress: ProgressPrinter(isQuiet: true), store: store) { _ in }
    _ = try await follower.follow([report.transfer])
  }

  /// It begins once, however often it is asked for.
  static func ended(_ record: DownloadRecord, as number: Int64, isLost: Bool) -> DownloadRecord {
    var record = record
    record.begunAgainAs = number
    record.resumeData = nil
    // The end of one that is not lost is written by the process that takes it.
    guard isLost, record.outcome == .queued else { return record }
    record.outcome = .failed
    record.finished = Date()
    record.message = "it was lost, and began again as transfer \(number)"
    (record.errorDomain, record.errorCode) = (
      NSURLErrorDomain, URLError.Code.backgroundSessionWasDisconnected.rawValue
    )
    return record
  }

  /// Why it can't begin again, and the command that begins it.
  var refusal: CommandFailure {
    let why =
      if report.isOfOtherApp {
        "its request is known to its app alone"
      } else if let number = record?.begunAgainAs {
        "it has begun again as transfer \(number)"
      } else {
        "this program keeps the URL and the destination of a transfer, and not the other options of its command"
      }
    return refused(because: why)
  }

  private func refused(because why: String) -> CommandFailure {
    CommandFailure(
      .transferFailed,
      "transfer \(report.transfer) is \(report.isLost ? "lost" : "over") and can't be tried again: \(why)",
      advice: advice)
  }

  private var advice: String {
    guard !report.isOfOtherApp else { return "begin it again in its app" }
    if let number = record?.begunAgainAs { return "see it with `urlsession show \(number)`" }
    let url = EndedTransfer.quoted(record?.url ?? report.url)
    let path = (record?.destination.path ?? report.destination).map(EndedTransfer.quoted)
    guard url != "''" else { return "begin it again with `urlsession \(report.isUpload ? "upload" : "download")`" }
    return report.isUpload
      ? "begin it again with `urlsession upload \(path ?? "FILE") \(url)`"
      : "begin it again with `urlsession download \(url)\(path.map { " -o \($0)" } ?? "")`"
  }

  /// For a shell.
  private static func quoted(_ text: String) -> String {
    "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
