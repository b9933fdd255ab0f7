extension SequencedEvent: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("event", event)
      try $0.field("sequence", sequence)
      try $0.field("session", session)
      try $0.field("taskIdentifier", taskIdentifier)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var session: String?
    var sequence: Int64?
    var taskIdentifier: Int?
    var event: TransferEvent?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "event": event = try scanner.value()
      case "sequence": sequence = try scanner.value()
      case "session": session = try scanner.value()
      case "taskIdentifier": taskIdentifier = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let session, let sequence, let taskIdentifier, let event else { throw JSONScanner.Unfit() }
    self.init(session: session, sequence: sequence, taskIdentifier: taskIdentifier, event: event)
  }
}

extension TransferEvent: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    if case .finishedDownloading(let download) = self {
      try writer.object { try $0.field("finishedDownloading", download) }
    } else if case .completed(let completion) = self {
      try writer.object { try $0.field("completed", completion) }
    } else {
      try writer.codable(self)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    try scanner.openObject()
    guard let name = try scanner.nextName() else { throw JSONScanner.Unfit() }
    switch name {
    case "finishedDownloading": self = .finishedDownloading(try scanner.value())
    case "completed": self = .completed(try scanner.value())
    default: throw JSONScanner.Unfit()
    }
    // More than one is for `Codable` to judge.
    guard try scanner.nextName() == nil else { throw JSONScanner.Unfit() }
  }
}

extension DownloadProgress: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("session", session)
      try $0.field("taskIdentifier", taskIdentifier)
      try $0.field("totalBytesExpectedToWrite", totalBytesExpectedToWrite)
      try $0.field("totalBytesWritten", totalBytesWritten)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var session: String?
    var taskIdentifier: Int?
    var (written, expected): (Int64?, Int64?)
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "session": session = try scanner.value()
      case "taskIdentifier": taskIdentifier = try scanner.value()
      case "totalBytesExpectedToWrite": expected = try scanner.value()
      case "totalBytesWritten": written = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let session, let taskIdentifier, let written, let expected else { throw JSONScanner.Unfit() }
    self.init(
      session: session, taskIdentifier: taskIdentifier, totalBytesWritten: written,
      totalBytesExpectedToWrite: expected)
  }
}

extension ResponseReceived: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("response", response)
      try $0.field("session", session)
      try $0.field("taskIdentifier", taskIdentifier)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var session: String?
    var taskIdentifier: Int?
    var response: ResponseSummary?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "response": response = try scanner.value()
      case "session": session = try scanner.value()
      case "taskIdentifier": taskIdentifier = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let session, let taskIdentifier, let response else { throw JSONScanner.Unfit() }
    self.init(session: session, taskIdentifier: taskIdentifier, response: response)
  }
}
