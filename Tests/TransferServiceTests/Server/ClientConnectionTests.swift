import Foundation
import Logging
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// How much of an app's requests is read.
@Suite struct ClientConnectionTests {
  /// Cancellations are answered when their ends are in the queue. An app that has sent many of them while the queue takes
  /// nothing is still served.
  @Test func cancellationsThatWaitForTheDiskDoNotStopTheReading() async throws {
    let count = 100
    try await withEngine(runner: ScriptedRunner(), { $0.storagePatience = 0.2 }) { fixture in
      var log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
      log.logLevel = .critical
      let path = fixture.folder.path + "/run/socket"
      let server = try await TransferServer.start(at: .path(path), engine: fixture.engine, log: log)
      let client = try await SocketClient.connect(path)
      _ = try await client.ask(.hello(Hello(client: "tests")))
      _ = try await client.ask(.attach(Attach(session: "s")))
      let tasks = (1...count).map { TransferDescription.download("http://h/", task: $0, running: false) }
      _ = try await client.ask(.createTasks(CreateTasks(session: "s", tasks: tasks)))

      try fixture.breakQueue()
      for task in 1...count {
        let cancel = CancelTask(session: "s", taskIdentifier: task)
        let message = ClientMessage(id: UInt64(1000 + task), request: .cancelTask(cancel))
        client.send(Array(try MessageFraming.frame(message)))
      }
      // The reply shows that everything before it was read.
      let reply = try await within(patience, "an answer behind the cancellations") {
        try await client.ask(.version)
      }
      guard case .version? = reply else {
        Issue.record("the answer is \(String(describing: reply))")
        return
      }

      try fixture.mendQueue()
      let answered = try await within(patience, "the answers to the cancellations") {
        var ids: Set<UInt64> = []
        while ids.count < count {
          if case .reply(let id, .cancelled) = try await client.messages.next() { ids.insert(id) }
        }
        return ids
      }
      #expect(answered == Set((1...count).map { UInt64(1000 + $0) }))
      client.close()
      await server.close()
    }
  }
}
