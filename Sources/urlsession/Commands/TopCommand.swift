import ArgumentParser

/// `urlsession top`
struct TopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top", abstract: "Watch the transfers of every app on the whole screen.",
    discussion: """
      Keys: the arrows or j and k select a transfer, p pauses it, r resumes it, t tries it now, l limits \
      its rate, c cancels it, and q leaves. \
      Does not start the transfer service.
      """)

  func run() async throws {
    let records = try RecordStore.usual()
    guard let terminal = FullScreenTerminal() else {
      throw CommandFailure(.usage, "top needs a terminal", advice: "use `urlsession list`")
    }
    defer { terminal.restore() }
    try await TopView(terminal, records: records).run()
  }
}
