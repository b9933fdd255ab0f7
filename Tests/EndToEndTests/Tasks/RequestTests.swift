import Foundation
import LoopbackServer
import Testing
import TransferScript

/// Requests that apps change while the service has them.
@Suite(.fewAtATime) struct RequestTests {
  private static func marks(_ server: LoopbackServer) -> [String?] { server.requests.map { $0.value("X-Mark") } }

  @Test func aDelayedTaskBeginsWithTheRequestOfItsDelegate() async throws {
    let file = FileResource(size: 100)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      try home.plan { $0.delayedMark = "new" }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", mark: "old", delay: 0.5))
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      #expect(home.log().count(.willBeginDelayedRequest, label: "f") == 1)
      #expect(Self.marks(server) == ["new"])
      try await home.expectNothingKept()
      try await app.quit()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The service that the app tells it is killed; the next one has it, and sends it.
  @Test func aNewRequestReachesTheNextService() async throws {
    let file = FileResource(size: 100)
    let gate = Gate()
    let server = try await LoopbackServer.start { request in
      file.reply(to: request).preceded(by: request.value("X-Mark") == "old" ? [.waitFor(gate)] : [])
    }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", mark: "old"))
      try await app.tell(.flush)
      let pid = try await home.service()
      kill(pid, SIGSTOP)
      let command = try app.say(.mark(label: "f", mark: "new"))
      kill(pid, SIGKILL)
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      #expect(server.requests.last?.value("X-Mark") == "new")
      try await eventually("the answer") { home.log().entries.contains { $0.command == command } }
      #expect(try await app.tasks().isEmpty)
      try await home.expectNothingKept()
      try await app.quit()
    }
    gate.open()
    await server.shutdown()
  }
}
