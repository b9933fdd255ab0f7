import Foundation

extension RecordStore {
  /// Keeps what only a service that runs can tell: that it does not have the transfer any more.
  func note(_ report: TransferReport, of record: DownloadRecord) {
    guard report.isLost, record.outcome == .queued else { return }
    _ = try? update(record.session) { present in
      // It may have ended since the record was read.
      guard var present, present.outcome == .queued, present.transfer == record.transfer else { return nil }
      present.outcome = .failed
      present.finished = Date()
      present.message = report.failure?.message
      present.errorDomain = DownloadRecord.lostDomain
      present.errorCode = report.failure?.code
      return present
    }
  }
}
