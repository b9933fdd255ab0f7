import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct TaskRegistryTests {
  private func task() throws -> URLSessionTask {
    URLSession(configuration: .ephemeral).dataTask(with: try textURL("x"))
  }

  /// A factory of a background session waits for an identifier; the session may be refused meanwhile.
  @Test func aTaskMadeWhileTheSessionEndsIsHeardOfFirst() throws {
    let (registry, made) = (TaskRegistry(), try task())
    let task = registry.addSlowly {
      let isAnnounced = registry.invalidate()
      #expect(!isAnnounced)
      return made
    }
    #expect(registry.outstanding() == [task])
    #expect(registry.hold(task))
    #expect(registry.forget(task.taskIdentifier))
  }

  @Test func aTaskMadeAfterThatIsNot() throws {
    let (registry, made) = (TaskRegistry(), try task())
    #expect(registry.invalidate())
    let task = registry.addSlowly { made }
    #expect(registry.outstanding().isEmpty)
    #expect(!registry.hold(task))
    #expect(!registry.forget(task.taskIdentifier))
  }
}
