import Foundation
import LoopbackServer
import RealServers
import Testing

/// A server that people run, with the same files and the same places whichever it is.
struct ServerSite: Sendable {
  enum Kind: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case nginx, apache
    var testDescription: String { rawValue }
    var installed: InstalledServer { self == .nginx ? .nginx : .apache }
  }

  static let areAllHere = Kind.allCases.allSatisfy(\.installed.runsHere)
  static let advice = Kind.allCases.filter { !$0.installed.isInstalled }.map(\.installed.advice).joined(separator: "; ")

  static let text = String(repeating: "The quick brown fox jumps over the lazy dog.\n", count: 2_000)
  static let large = FileResource.Version(size: 48 << 20)
  /// 13 MiB of each answer come at once, and the rest at half a MiB a second.
  static let slow = FileResource.Version(size: 16 << 20, seed: 7)

  let kind: Kind
  let server: RealServer

  static func start(_ kind: Kind) async throws -> ServerSite {
    let identity = try TestCertificates.shared().localhost
    let tls = TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    let server: RealServer
    switch kind {
    case .nginx:
      server = try await Nginx.start(
        tls: tls,
        extra: """
          location = /old { return 302 /text.txt; }
          location = /moved { return 308 /large; }
          location = /nothing { return 204; }
          location = /slow { limit_rate_after 13m; limit_rate 512k; }
          """)
    case .apache:
      server = try await Apache.start(
        tls: tls, modules: ["env", "ratelimit"],
        extra: """
          Redirect 302 /old /text.txt
          Redirect 308 /moved /large
          Redirect 204 /nothing
          <Location "/slow">
            SetOutputFilter RATE_LIMIT
            SetEnv rate-limit 512
              SetEnv rate-initial-burst 13312
          </Location>
          """)
    }
    try text.write(toFile: server.documentRoot + "/text.txt", atomically: false, encoding: .utf8)
    try large.pattern.write(toFile: server.documentRoot + "/large", count: large.size)
    try slow.pattern.write(toFile: server.documentRoot + "/slow", count: slow.size)
    // A file that has just changed may change again within the second, so its validators would be weak.
    for name in ["text.txt", "large", "slow"] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -3_600)], ofItemAtPath: server.documentRoot + "/" + name)
    }
    return ServerSite(kind: kind, server: server)
  }

  func url(_ path: String, secure: Bool) -> URL { secure ? server.secureURL(path) : server.url(path) }
}

/// Every server, plain and over TLS.
struct ServerCase: Sendable, CustomTestStringConvertible {
  let kind: ServerSite.Kind
  let isSecure: Bool

  var testDescription: String { "\(kind.rawValue) over \(isSecure ? "https" : "http")" }

  static let all = ServerSite.Kind.allCases.flatMap { kind in
    [false, true].map { ServerCase(kind: kind, isSecure: $0) }
  }
}
