extension TransferSnapshot: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("description", description)
      try $0.field("response", response)
      try $0.field("status", status)
      try $0.codableField("tries", tries)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var description: TransferDescription?
    var status: TransferStatus?
    var response: ResponseSummary?
    var tries: [TransferTry]?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "description": description = try scanner.value()
      case "response": response = try scanner.optional()
      case "status": status = try scanner.value()
      case "tries": tries = try scanner.codable()
      default: try scanner.skip()
      }
    }
    guard let description, let status else { throw JSONScanner.Unfit() }
    self.init(description: description, status: status, response: response)
    self.tries = tries
  }
}

extension TaskPage: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("next", next)
      try $0.field("tasks", tasks)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var tasks: [TransferSnapshot]?
    var next: Int?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "next": next = try scanner.optional()
      case "tasks": tasks = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let tasks else { throw JSONScanner.Unfit() }
    self.init(tasks: tasks, next: next)
  }
}

extension TransferPage: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.codableField("limits", limits)
      try $0.field("next", next)
      try $0.field("transfers", transfers)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var transfers: [TransferStatus]?
    var next: Int64?
    var limits: [BandwidthLimit]?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "limits": limits = try scanner.codable()
      case "next": next = try scanner.optional()
      case "transfers": transfers = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let transfers else { throw JSONScanner.Unfit() }
    self.init(transfers: transfers, next: next)
    self.limits = limits
  }
}

extension Attached: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("nextTaskIdentifier", nextTaskIdentifier)
      try $0.field("page", page)
      try $0.field("pendingEventCount", pendingEventCount)
      try $0.field("willFinishEvents", willFinishEvents)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var page: TaskPage?
    var (next, pending): (Int?, Int?)
    var willFinish: Bool?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "nextTaskIdentifier": next = try scanner.value()
      case "page": page = try scanner.value()
      case "pendingEventCount": pending = try scanner.value()
      case "willFinishEvents": willFinish = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let page, let next, let pending, let willFinish else { throw JSONScanner.Unfit() }
    self.init(page: page, nextTaskIdentifier: next, pendingEventCount: pending, willFinishEvents: willFinish)
  }
}
