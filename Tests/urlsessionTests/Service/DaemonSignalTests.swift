import Foundation
import LoopbackServer
import Testing

/// `urlsessiond` in a process of its own, asked to end by a signal.
struct DaemonSignalTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func serving(_ arguments: String...) async throws -> RunningProgram {
    let program = try RunningProgram(
      Sandbox.program("urlsessiond"), arguments: arguments, environment: sandbox.environment, folder: sandbox.work,
      files: sandbox.home.path + "/tmp/service", input: nil)
    try await eventually("the service to serve") { program.errorsSoFar.contains("serving on") }
    return program
  }

  /// The size of the write-ahead log, which a queue that was closed has emptied into its database.
  private func logSize() throws -> Int {
    let path = sandbox.home.path + "/state/urlsessiond/queue.sqlite-wal"
    guard FileManager.default.fileExists(atPath: path) else { return 0 }
    return try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
  }

  @Test(arguments: [SIGTERM, SIGINT]) func signalClosesTheQueueAndEndsTheService(number: Int32) async throws {
    let service = try await serving("--foreground")
    #expect(try logSize() > 0)
    service.signal(number)
    let ended = try await service.ended()
    #expect(ended.status == 0)
    #expect(ended.errors.contains("ending: a signal asked for it"))
    #expect(try logSize() == 0)
  }

  @Test func signalToTheSupervisorEndsItsWorkerFirst() async throws {
    let supervisor = try await serving("--supervise", "--idle-exit", "0")
    supervisor.signal(SIGTERM)
    let ended = try await supervisor.ended()
    #expect(ended.status == 0)
    #expect(ended.errors.contains("ending: a signal asked for it"))
    #expect(try logSize() == 0)
  }

  @Test func serviceEndsByItselfWithNothingToDo() async throws {
    let service = try await serving("--idle-exit", "0.05")
    let ended = try await service.ended()
    #expect(ended.status == 0)
    #expect(ended.errors.contains("ending: there is nothing to do"))
  }
}
