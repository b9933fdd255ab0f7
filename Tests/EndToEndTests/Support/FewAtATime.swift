import Foundation
import LoopbackServer
import Testing

/// Lets a few of these tests run at a time, of all suites together: each starts programs of its own, and with many more of
/// them than processors all would wait for each other, while pauses of real time pass in turns in a suite that is
/// serialized (Docs/Decisions/0167).
struct FewAtATime: SuiteTrait, TestTrait, TestScoping {
  private static let free = Monitor(max(4, 3 * ProcessInfo.processInfo.activeProcessorCount))

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    _ = try await Self.free.wait { free -> Bool? in
      guard free > 0 else { return nil }
      free -= 1
      return true
    }
    defer { Self.free.update { $0 += 1 } }
    try await function()
  }
}

extension Trait where Self == FewAtATime {
  /// Runs the tests beside those of other suites, with a limit for all of them.
  static var fewAtATime: Self { Self() }
}
