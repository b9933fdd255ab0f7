extension CreateTasks: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("files", files)
      try $0.field("session", session)
      try $0.field("tasks", tasks)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var session: String?
    var tasks: [TransferDescription]?
    var files: Int?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "files" where files == nil: files = try scanner.optional()
      case "session" where session == nil: session = try scanner.value()
      case "tasks" where tasks == nil: tasks = try scanner.value()
      default: try scanner.skip()
      }
    }
    // A list that is too long is refused by `Codable`.
    guard let session, let tasks, tasks.count <= MessageFraming.maximumListCount else { throw JSONScanner.Unfit() }
    self.init(session: session, tasks: tasks, files: files)
  }
}
