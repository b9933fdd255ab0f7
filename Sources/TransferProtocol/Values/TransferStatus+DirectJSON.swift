import Foundation

extension TransferStatus: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.codableField("absence", absence)
      try $0.field("app", app)
      try $0.field("bytesPerSecond", bytesPerSecond)
      try $0.field("countOfBytesExpectedToReceive", countOfBytesExpectedToReceive)
      try $0.field("countOfBytesExpectedToSend", countOfBytesExpectedToSend)
      try $0.field("countOfBytesReceived", countOfBytesReceived)
      try $0.field("countOfBytesSent", countOfBytesSent)
      try $0.field("created", created)
      try $0.field("failedAttempts", failedAttempts)
      try $0.codableField("failure", failure)
      try $0.field("finished", finished)
      try $0.field("httpStatus", httpStatus)
      try $0.field("isAcknowledged", isAcknowledged)
      try $0.field("kind", kind)
      try $0.codableField("limits", limits)
      try $0.field("session", session)
      try $0.field("state", state)
      try $0.field("taskDescription", taskDescription)
      try $0.field("taskIdentifier", taskIdentifier)
      try $0.field("transfer", transfer)
      try $0.field("url", url)
      try $0.field("waiting", waiting)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var transfer: Int64?
    var session: String?
    var taskIdentifier: Int?
    var kind: TransferKind?
    var url: String?
    var state: TransferState?
    var created: Date?
    var received: Int64?
    var expected: Int64?
    var failedAttempts: Int?
    var isAcknowledged: Bool?
    var (sent, expectedToSend, bytesPerSecond): (Int64?, Int64?, Int64?)
    var (taskDescription, app): (String?, String?)
    var waiting: WaitingStatus?
    var httpStatus: Int?
    var failure: TransferFailure?
    var finished: Date?
    var limits: [TransferLimit]?
    var absence: AppAbsence?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "absence": absence = try scanner.codable()
      case "app": app = try scanner.optional()
      case "bytesPerSecond": bytesPerSecond = try scanner.optional()
      case "countOfBytesExpectedToReceive": expected = try scanner.value()
      case "countOfBytesExpectedToSend": expectedToSend = try scanner.optional()
      case "countOfBytesReceived": received = try scanner.value()
      case "countOfBytesSent": sent = try scanner.optional()
      case "created": created = try scanner.value()
      case "failedAttempts": failedAttempts = try scanner.value()
      case "failure": failure = try scanner.codable()
      case "finished": finished = try scanner.optional()
      case "httpStatus": httpStatus = try scanner.optional()
      case "isAcknowledged": isAcknowledged = try scanner.value()
      case "kind": kind = try scanner.value()
      case "limits": limits = try scanner.codable()
      case "session": session = try scanner.value()
      case "state": state = try scanner.value()
      case "taskDescription": taskDescription = try scanner.optional()
      case "taskIdentifier": taskIdentifier = try scanner.value()
      case "transfer": transfer = try scanner.value()
      case "url": url = try scanner.value()
      case "waiting": waiting = try scanner.optional()
      default: try scanner.skip()
      }
    }
    guard let transfer, let session, let taskIdentifier, let kind, let url, let state, let created, let received,
      let expected, let failedAttempts, let isAcknowledged
    else { throw JSONScanner.Unfit() }
    self.init(
      transfer: transfer, session: session, taskIdentifier: taskIdentifier, kind: kind, url: url, state: state,
      created: created)
    countOfBytesReceived = received
    countOfBytesExpectedToReceive = expected
    self.failedAttempts = failedAttempts
    self.isAcknowledged = isAcknowledged
    (countOfBytesSent, countOfBytesExpectedToSend) = (sent, expectedToSend)
    (self.taskDescription, self.app, self.waiting, self.httpStatus) = (taskDescription, app, waiting, httpStatus)
    (self.failure, self.finished, self.limits) = (failure, finished, limits)
    (self.bytesPerSecond, self.absence) = (bytesPerSecond, absence)
  }
}

extension TransferKind: DirectJSON {
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) { self.init(rawValue: try scanner.string()) }
}

extension TransferState: DirectJSON {
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) { self.init(rawValue: try scanner.string()) }
}

extension WaitingStatus: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("code", code)
      try $0.field("nextAttempt", nextAttempt)
      try $0.field("sentence", sentence)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var (code, sentence): (String?, String?)
    var nextAttempt: Date?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "code": code = try scanner.value()
      case "nextAttempt": nextAttempt = try scanner.optional()
      case "sentence": sentence = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let code, let sentence else { throw JSONScanner.Unfit() }
    self.init(code: code, sentence: sentence, nextAttempt: nextAttempt)
  }
}
