import Foundation
import TransferProtocol
import URLLoadingSystem

/// A transfer as the service and this program's own record know it together.
struct TransferReport: Sendable, Equatable {
  var transfer: Int64
  var session: String
  var url: String
  var state: TransferState
  /// nil until the transfer is over and its file in place.
  var outcome: DownloadRecord.Outcome?
  /// The file asked for, or the folder where the server's name for it is used.
  var destination: String?
  var path: String?
  var received: Int64
  /// nil when it is not known.
  var total: Int64?
  /// Bytes per second; nil when it was not measured.
  var rate: Double?
  var httpStatus: Int?
  var waiting: WaitingStatus?
  var failedAttempts: Int
  var failure: TransferFailure?
  var created: Date
  var finished: Date?

  init(_ status: TransferStatus, record: DownloadRecord? = nil) {
    transfer = status.transfer
    session = status.session
    url = status.url
    state = status.state
    received = status.countOfBytesReceived
    total = status.countOfBytesExpectedToReceive >= 0 ? status.countOfBytesExpectedToReceive : nil
    httpStatus = status.httpStatus
    waiting = status.waiting
    failedAttempts = status.failedAttempts
    failure = status.failure
    created = status.created
    finished = status.finished
    let note = DownloadNote(taskDescription: status.taskDescription)
    destination = note?.destination.path ?? record?.destination.path
    adopt(record)
    if outcome == nil, status.state == .completed, status.isAcknowledged {
      outcome = TransferReport.outcome(of: status)
    }
  }

  /// From the record alone: the service does not run, or has forgotten the transfer.
  init?(_ record: DownloadRecord) {
    guard let transfer = record.transfer else { return nil }
    self.transfer = transfer
    session = record.session
    url = record.url
    state = record.outcome.isFinal ? .completed : .waiting
    destination = record.destination.path
    received = record.bytes ?? 0
    total = record.outcome == .saved || record.outcome == .savedElsewhere ? record.bytes : nil
    failedAttempts = 0
    created = record.created
    finished = record.finished
    adopt(record)
  }

  private mutating func adopt(_ record: DownloadRecord?) {
    guard let record, record.finished != nil, record.outcome.isFinal else { return }
    outcome = record.outcome
    path = record.path
    httpStatus = httpStatus ?? record.httpStatus
    if failure == nil, let message = record.message {
      failure = TransferFailure(
        domain: record.errorDomain ?? "urlsession", code: record.errorCode ?? 0, message: message)
    }
  }

  private static func outcome(of status: TransferStatus) -> DownloadRecord.Outcome {
    if let failure = status.failure {
      return failure.domain == NSURLErrorDomain && failure.code == NSURLErrorCancelled ? .cancelled : .failed
    }
    return (status.httpStatus ?? 200) >= 400 ? .httpError : .saved
  }

  /// `running`, `waiting`, …; once over, how it ended.
  var stateWord: String {
    switch outcome {
    case nil: state == .completed ? "finishing" : state.rawValue
    case .saved: "saved"
    case .savedElsewhere: "saved elsewhere"
    case .httpError: "HTTP \(httpStatus ?? 0)"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .queued, .placing: "finishing"
    }
  }

  var fraction: Double? {
    guard let total else { return nil }
    return total == 0 ? 1 : min(1, Double(received) / Double(total))
  }

  /// How the program ends on account of this transfer; nil when it succeeded or is not over.
  var ending: CommandFailure? {
    let name = "transfer \(transfer)"
    switch outcome {
    case nil, .saved, .queued, .placing: return nil
    case .httpError:
      var failure = CommandFailure.http(status: httpStatus ?? 0, url: url)
      failure.what = "\(name): \(failure.what)"
      return failure
    case .savedElsewhere:
      return CommandFailure(
        .cannotWrite, "\(name): \(failure?.message ?? "the destination can't be written")",
        advice: "the file is safe at \(path ?? "another place"), move it from there")
    case .cancelled:
      return CommandFailure(
        .cancelled, "\(name) was cancelled", advice: "start it again with `urlsession download` when you want it")
    case .failed:
      var ending = CommandFailure.loading(
        domain: failure?.domain ?? "", code: failure?.code ?? 0, message: failure?.message ?? "it failed")
      ending.what = "\(name): \(ending.what)"
      return ending
    }
  }
}
