import Foundation
import TransferProtocol
import URLLoadingSystem

extension TransferStatus {
  /// A service that names no app shows a program its own transfers alone.
  var isOfThisProgram: Bool { app.map { $0 == OwnProgram.path } ?? true }
}

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
  var destinationIsFolder = false
  var path: String?
  /// Whether it sends a file, which is then the destination.
  var isUpload = false
  /// Of an upload, the bytes that are sent.
  var received: Int64
  /// False where only this program's record tells of the transfer, and does not have them.
  private(set) var isReceivedKnown = true
  /// nil when it is not known.
  var total: Int64?
  /// Bytes per second, as the service measures them; nil while it does not run.
  var rate: Double?
  var httpStatus: Int?
  var waiting: WaitingStatus?
  var failedAttempts: Int
  var failure: TransferFailure?
  var created: Date
  var finished: Date?
  /// The path of the program that queued it; nil when the service does not say.
  var app: String?

  /// The reason of a transfer that the user has paused.
  static let pausedCode = "pausedByUser"
  /// The reason of one that ran at several crashes of the service.
  static let setAsideCode = "setAside"

  /// The user has paused it, and it does not run any more.
  var isPaused: Bool { outcome == nil && state != .running && waiting?.code == TransferReport.pausedCode }

  /// Another program queued it, and gets its file.
  var isOfOtherApp: Bool { app.map { $0 != OwnProgram.path } ?? false }

  /// A session of another app may have the identifier of one of ours, so records count for transfers of this program alone.
  init(_ status: TransferStatus, in records: RecordStore) {
    self.init(status, record: status.isOfThisProgram ? records.read(status.session) : nil)
  }
  var limits: [TransferLimit] = []
  /// nil while its app is there.
  var absence: AppAbsence?
  /// Whether `retry` begins it again.
  private(set) var beginsAgain = false
  /// Whether its record would be enough for that.
  private var canBeginAgain = false

  init(_ status: TransferStatus, record: DownloadRecord? = nil) {
    transfer = status.transfer
    session = status.session
    url = status.url
    state = status.state
    received = status.countOfBytesReceived
    total = status.countOfBytesExpectedToReceive >= 0 ? status.countOfBytesExpectedToReceive : nil
    if status.kind == .upload {
      isUpload = true
      received = status.countOfBytesSent ?? 0
      total = status.countOfBytesExpectedToSend.flatMap { $0 >= 0 ? $0 : nil }
    }
    httpStatus = status.httpStatus
    waiting = status.waiting
    failedAttempts = status.failedAttempts
    failure = status.failure
    if let message = failure?.message { failure?.message = CommandFailure.withoutNames(message) }
    created = status.created
    finished = status.finished
    app = status.app
    limits = status.limits ?? []
    absence = status.absence
    if state == .running { rate = status.bytesPerSecond.map(Double.init) }
    if isOfOtherApp {
      if state == .completed { outcome = end }
      return
    }
    let note = DownloadNote(taskDescription: status.taskDescription)
    let asked = note?.destination ?? record?.destination
    destination = asked?.path
    destinationIsFolder = asked?.isFolder == true
    // Its queue has come back.
    if record?.isLost != true { adopt(record) }
    if outcome == nil, status.state == .completed, status.isAcknowledged {
      outcome = end
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
    destinationIsFolder = record.destination.isFolder
    isUpload = record.isUpload == true
    received = record.bytes ?? 0
    isReceivedKnown = record.bytes != nil
    canBeginAgain = record.canBeginAgain
    total = record.outcome == .saved || record.outcome == .savedElsewhere ? record.bytes : nil
    failedAttempts = 0
    created = record.created
    finished = record.finished
    app = OwnProgram.path
    adopt(record)
  }

  /// The report of a transfer that this program's record has as queued, and the service does not have.
  func lost() -> TransferReport {
    var report = self
    (report.state, report.outcome, report.waiting, report.beginsAgain) = (.completed, .failed, nil, canBeginAgain)
    let how = canBeginAgain ? "" : " Start it again with `urlsession \(command)`."
    report.failure = TransferFailure(
      domain: DownloadRecord.lostDomain, code: 0,
      message:
        "it is lost: the transfer service does not have it any more, as where its queue and the copy of it are gone.\(how)"
    )
    return report
  }

  private mutating func adopt(_ record: DownloadRecord?) {
    guard let record, record.finished != nil, record.outcome.isFinal else { return }
    outcome = record.outcome
    beginsAgain = record.canBeginAgain && outcome != .saved && outcome != .savedElsewhere
    path = record.path
    httpStatus = httpStatus ?? record.httpStatus
    if failure == nil, let message = record.message {
      failure = TransferFailure(
        domain: record.errorDomain ?? "urlsession", code: record.errorCode ?? 0, message: message)
    }
  }

  /// How one that is complete with the service has ended, as far as the service knows.
  private var end: DownloadRecord.Outcome {
    if let failure {
      return failure.domain == NSURLErrorDomain && failure.code == NSURLErrorCancelled ? .cancelled : .failed
    }
    return 200..<300 ~= (httpStatus ?? 200) ? .saved : .httpError
  }

  /// The outcome; also of a transfer that has failed at the service, and whose app has not taken the end yet.
  var outcomeAtService: DownloadRecord.Outcome? {
    guard outcome == nil, state == .completed else { return outcome }
    return end == .saved ? nil : end
  }

  /// `running`, `waiting`, …; once over, how it ended.
  var stateWord: String {
    switch outcomeAtService {
    case nil where waiting?.code == TransferReport.pausedCode: "paused"
    case nil where waiting?.code == TransferReport.setAsideCode: "set aside"
    case nil: state == .completed ? "finishing" : state.rawValue
    case .saved: isOfOtherApp ? "complete" : isUpload ? "sent" : "saved"
    case .savedElsewhere: "saved elsewhere"
    case .httpError: "HTTP \(httpStatus ?? 0)"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .queued, .placing: "finishing"
    }
  }

  /// Of the file, as far as it is known: the server may have another for it.
  var name: String {
    if let path = path ?? (destinationIsFolder ? nil : destination) { return (path as NSString).lastPathComponent }
    let last = URL(string: url)?.lastPathComponent ?? ""
    return last.isEmpty || last == "/" ? URL(string: url)?.host ?? url : last
  }

  var fraction: Double? {
    guard let total else { return nil }
    return total == 0 ? 1 : min(1, Double(received) / Double(total))
  }

  /// The service does not have it, or has ended it because too little was left of its record.
  var isLost: Bool {
    guard outcome == .failed, let failure else { return false }
    return failure.domain == DownloadRecord.lostDomain
      || failure.domain == NSURLErrorDomain && failure.code == URLError.Code.backgroundSessionWasDisconnected.rawValue
  }

  /// How the program ends on account of this transfer; nil when it succeeded or is not over.
  var ending: CommandFailure? {
    let name = "transfer \(transfer)"
    switch outcome {
    case nil, .saved, .queued, .placing: return nil
    case .httpError:
      var failure = CommandFailure.http(status: httpStatus ?? 0, url: url, command: command)
      failure.what = "\(name): \(failure.what)"
      return failure
    case .savedElsewhere:
      return CommandFailure(
        .cannotWrite, "\(name): \(failure?.message ?? "the destination can't be written")",
        advice: "the file is safe at \(path ?? "another place"), move it from there")
    case .cancelled:
      return CommandFailure(
        .cancelled, "\(name) was cancelled",
        advice: "start it again with `urlsession \(again)` when you want it")
    case .failed where failure?.domain == DownloadRecord.lostDomain:
      return CommandFailure(
        .transferFailed, "\(name) is lost: the transfer service does not have it any more",
        advice: "start it again with `urlsession \(again)`")
    case .failed:
      var ending = CommandFailure.givenUp(transfer, failure, command: command, again: again)
      ending.what = "\(name): \(ending.what)"
      return ending
    }
  }

  /// The command that begins it again.
  var again: String { beginsAgain ? "retry \(transfer)" : command }

  /// The command that begins such a transfer.
  private var command: String { isUpload ? "upload" : "download" }
}
