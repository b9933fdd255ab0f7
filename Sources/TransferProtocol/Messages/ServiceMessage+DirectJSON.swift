extension ServiceMessage: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      switch self {
      case .reply(let id, let reply):
        try $0.body(reply.body)
        try $0.field("reply", reply.name)
        try $0.field("replyTo", id)
      case .push(let push):
        try $0.body(push.body)
        try $0.field("push", push.name)
      }
    }
  }

  /// Reads the messages that are not written by `Codable`; the others are left to it.
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var (push, reply): (String?, String?)
    var id: UInt64?
    var body: Range<Int>?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      // Its name comes behind it.
      case "body": body = try scanner.skip()
      case "push": push = try scanner.value()
      case "reply": reply = try scanner.value()
      case "replyTo": id = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let body else { throw JSONScanner.Unfit() }
    var part = scanner.part(body)
    switch (push, reply, id) {
    case ("event", _, _): self = .push(.event(try part.value()))
    case ("progress", _, _): self = .push(.progress(try part.value()))
    case ("responseReceived", _, _): self = .push(.responseReceived(try part.value()))
    case ("transferChanged", _, _): self = .push(.transferChanged(try part.value()))
    case (nil, "attached", let id?): self = .reply(to: id, .attached(try part.value()))
    case (nil, "tasks", let id?): self = .reply(to: id, .tasks(try part.value()))
    case (nil, "transfers", let id?): self = .reply(to: id, .transfers(try part.value()))
    case (nil, "transfer", let id?): self = .reply(to: id, .transfer(try part.value()))
    default: throw JSONScanner.Unfit()
    }
  }
}
