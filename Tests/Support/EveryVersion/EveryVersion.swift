import LoopbackServer
import Testing

/// Runs a test, or each test of a suite, once over each version of HTTP, as `WireVersion.current` says.
public struct EveryVersion: TestTrait, SuiteTrait, TestScoping {
  public let isRecursive = true

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    for version in WireVersion.allCases {
      try await WireVersion.$current.withValue(version) { try await function() }
    }
  }
}

extension Trait where Self == EveryVersion {
  public static var overEveryVersion: EveryVersion { EveryVersion() }
}
