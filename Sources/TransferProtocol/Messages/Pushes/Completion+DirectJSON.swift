import Foundation

extension Completion: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("countOfBytesExpectedToReceive", countOfBytesExpectedToReceive)
      try $0.field("countOfBytesExpectedToSend", countOfBytesExpectedToSend)
      try $0.field("countOfBytesReceived", countOfBytesReceived)
      try $0.field("countOfBytesSent", countOfBytesSent)
      try $0.codableField("failure", failure)
      try $0.field("response", response)
      try $0.codableField("resumePoint", resumePoint)
      try $0.field("sealedTransactions", sealedTransactions)
      try $0.field("transactions", transactions)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var failure: TransferFailure?
    var response: ResponseSummary?
    var (received, expected, sent, expectedToSend): (Int64?, Int64?, Int64?, Int64?)
    var transactions: [TransactionDescription]?
    var sealedTransactions: Data?
    var resumePoint: ResumePoint?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "countOfBytesExpectedToReceive": expected = try scanner.value()
      case "countOfBytesExpectedToSend": expectedToSend = try scanner.optional()
      case "countOfBytesReceived": received = try scanner.value()
      case "countOfBytesSent": sent = try scanner.optional()
      case "failure": failure = try scanner.codable()
      case "response": response = try scanner.optional()
      case "resumePoint": resumePoint = try scanner.codable()
      case "sealedTransactions": sealedTransactions = try scanner.optional()
      case "transactions": transactions = try scanner.optional()
      default: try scanner.skip()
      }
    }
    guard let received, let expected else { throw JSONScanner.Unfit() }
    self.init(
      failure: failure, response: response, countOfBytesReceived: received, countOfBytesExpectedToReceive: expected)
    (countOfBytesSent, countOfBytesExpectedToSend) = (sent, expectedToSend)
    (self.transactions, self.sealedTransactions, self.resumePoint) = (transactions, sealedTransactions, resumePoint)
  }
}

extension FinishedDownload: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("byteCount", byteCount)
      try $0.field("path", path)
      try $0.field("response", response)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var path: String?
    var response: ResponseSummary?
    var count: Int64?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "byteCount": count = try scanner.value()
      case "path": path = try scanner.value()
      case "response": response = try scanner.optional()
      default: try scanner.skip()
      }
    }
    guard let path, let count else { throw JSONScanner.Unfit() }
    self.init(path: path, response: response, byteCount: count)
  }
}
