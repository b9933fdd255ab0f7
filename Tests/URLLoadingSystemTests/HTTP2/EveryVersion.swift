import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// A version of HTTP that a test of loading runs over.
enum WireVersion: String, Sendable, CaseIterable {
  case http1 = "HTTP/1.1"
  case http2 = "HTTP/2"

  /// What `withServer` serves for the test that is running.
  @TaskLocal static var current = WireVersion.http1

  /// HTTP/1.1 is plain; HTTP/2 is what TLS agrees on.
  func tls() throws -> ServerTLS? {
    guard self == .http2 else { return nil }
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = ["h2", "http/1.1"]
    return tls
  }
}

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
