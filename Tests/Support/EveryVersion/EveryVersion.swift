import LoopbackServer
import Testing

/// Runs a test, or each test of a suite, once over each of some versions of HTTP, as `WireVersion.current` says.
public struct EveryVersion: TestTrait, SuiteTrait, TestScoping {
  private let includesHTTP3: Bool

  public let isRecursive = true

  fileprivate init(includesHTTP3: Bool) { self.includesHTTP3 = includesHTTP3 }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let versions = WireVersion.overTCP + (includesHTTP3 && HTTP3Front.runsHere ? [.http3] : [])
    for version in versions {
      try await WireVersion.$current.withValue(version) { try await function() }
    }
  }
}

extension Trait where Self == EveryVersion {
  /// HTTP/1.1 and HTTP/2.
  public static var overEveryVersion: EveryVersion { EveryVersion(includesHTTP3: false) }

  /// HTTP/3 too, where it is in the build.
  public static var overHTTP1To3: EveryVersion { EveryVersion(includesHTTP3: true) }
}
