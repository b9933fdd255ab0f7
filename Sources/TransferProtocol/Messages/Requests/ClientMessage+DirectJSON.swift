extension ClientMessage: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.body(request.body)
      try $0.field("id", id)
      try $0.field("request", request.name)
    }
  }

  /// A field that is there twice counts once, as with `Codable`: the first time.
  ///
  /// Reads the messages that are not written by `Codable`; the others are left to it.
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var id: UInt64?
    var name: String?
    var body: Range<Int>?
    try scanner.openObject()
    while let field = try scanner.nextName() {
      switch field {
      // Its name comes behind it.
      case "body" where body == nil: body = try scanner.skip()
      case "id" where id == nil: id = try scanner.value()
      case "request" where name == nil: name = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let id, let body, name == "createTasks" else { throw JSONScanner.Unfit() }
    var part = scanner.part(body)
    self.init(id: id, request: .createTasks(try part.value()))
  }
}
