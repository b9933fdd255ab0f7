import Foundation
import Harness

/// Measures the transfer service through the library, and what downloads files beside it; and the command's start.
@main
enum ServiceClient {
  static func main() async throws {
    let assignment = Assignment.fromCommandLine()
    switch (assignment.work, assignment.mode) {
    case (.queue, "times"): try await QueueTimes(assignment).run()
    case (.queue, "memory"): try await QueueMemory(assignment).run()
    // Apps of their own, which the two above start.
    case (.queue, "enqueue"): try await QueuedTasks(assignment).enqueue()
    case (.queue, "cancel"): try await QueuedTasks(assignment).listAndCancel()
    case (.files, "service"): try await ServiceDownloads(assignment).run()
    case (.files, let mode): try PeerDownloads(assignment, program: mode).run()
    case (.start, let program): try ProgramStarts(assignment, program: program).run()
    case (.idle, "sleep"): IdleService.sleep()
    case (.idle, _): try await IdleService(assignment).run()
    default: fail("no \(assignment.work) through \(assignment.mode)")
    }
  }
}
