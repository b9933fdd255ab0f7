import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct TaskRegistryTests {
  private func task() throws -> URLSessionTask {
    URLSession(configuration: .ephemeral).dataTask(with: try textURL("x"))
  }

  @Test func theEndOfATaskMadeBeforeTheInvalidationIsAwaited() throws {
    let (registry, task) = (TaskRegistry(), try self.task())
    registry.add(task)
    #expect(!registry.invalidate())
    #expect(registry.outstanding() == [task])
    #expect(registry.hold(task))
    #expect(registry.forget(task.taskIdentifier))
  }

  @Test func aTaskMadeAfterTheInvalidationIsNotHeld() throws {
    let (registry, task) = (TaskRegistry(), try self.task())
    #expect(registry.invalidate())
    registry.add(task)
    #expect(registry.outstanding().isEmpty)
    #expect(!registry.hold(task))
    #expect(!registry.forget(task.taskIdentifier))
  }
}
