import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Runs a test, or each test of a suite, once over each version of HTTP: its `withServer` and
/// `URLSessionConfiguration.loopback` fit together.
struct EveryVersion: TestTrait, SuiteTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    for version in WireVersion.allCases {
      try await WireVersion.$current.withValue(version) { try await function() }
    }
  }
}

extension Trait where Self == EveryVersion {
  static var overEveryVersion: EveryVersion { EveryVersion() }
}

extension URLSessionConfiguration {
  /// An ephemeral one that trusts the loopback servers' certificates.
  static var loopback: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    if let file = try? TestCertificates.shared().authorityFile { configuration.trustRoots = .file(file) }
    return configuration
  }
}
