import Foundation
import LoopbackServer
import NIOCore
import Testing

@testable import URLLoadingSystem

/// Who gets the next connection.
@Suite struct PriorityTests {
  /// Returns once `task` waits for a connection.
  private func isWaiting(_ task: URLSessionTask) async throws {
    let context = try #require(task.lockedState.withLock { $0.work as? LoadContext })
    try await eventually("the task to wait for a connection", every: .milliseconds(1)) {
      try await context.loop.submit { context.waiter != nil }.get()
    }
  }

  @Test func aWaitingTaskMovesWhenItsPriorityChanges() async throws {
    let gate = Gate()
    try await withServer({ $0.path == "/first" ? Reply.ok("").preceded(by: [.waitFor(gate)]) : .ok("") }) { server in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 1
      let session = URLSession(configuration: configuration)
      let ends = Recorder<String>()
      let tasks = ["first", "low", "normal", "raised", "lowered"].map { name in
        session.dataTask(with: server.url("/" + name)) { _, _, _ in ends.record(name) }
      }
      tasks[0].resume()
      _ = try await server.nextRequest()
      tasks[1].priority = URLSessionTask.lowPriority
      for task in tasks.dropFirst() {
        task.resume()
        try await isWaiting(task)
      }
      tasks[3].priority = URLSessionTask.highPriority
      tasks[4].priority = 0
      tasks[4].priority = .nan
      #expect(tasks[4].priority == 0)
      gate.open()
      #expect(try await ends.first(5) == ["first", "raised", "normal", "low", "lowered"])
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aWaitingTaskThatIsCancelledLeavesTheQueue() async throws {
    let gate = Gate()
    try await withServer({ _ in Reply.ok("").preceded(by: [.waitFor(gate)]) }) { server in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 1
      let session = URLSession(configuration: configuration)
      let ends = Recorder<Int?>()
      let tasks = (0..<4).map { _ in
        session.dataTask(with: server.url()) { _, _, error in ends.record((error as? URLError)?.errorCode) }
      }
      for task in tasks {
        task.resume()
        if task === tasks[0] { _ = try await server.nextRequest() } else { try await isWaiting(task) }
      }
      tasks[2].priority = 1
      tasks[2].cancel()
      #expect(try await ends.next() == URLError.Code.cancelled.rawValue)
      gate.open()
      #expect(try await ends.first(4).dropFirst() == [nil, nil, nil])
      #expect(server.requests.count == 3)
      session.finishTasksAndInvalidate()
    }
  }
}
