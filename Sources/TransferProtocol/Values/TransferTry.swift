import Foundation

/// One try at a transfer: a request, or a few where the server redirected, and what came of it.
package struct TransferTry: Codable, Sendable, Equatable {
  package var began: Date
  /// Seconds; up to now for a try that is under way.
  package var duration: Double
  /// Seconds from the beginning to the response; nil when there was none.
  package var responseAfter: Double?
  /// Bytes that were there before; of an upload, those that the server had.
  package var offset: Int64
  /// Bytes that this try added.
  package var received: Int64
  /// Bytes of an upload's file that this try has sent; nil for a download, and from services of earlier versions.
  package var sent: Int64?
  package var httpStatus: Int?
  /// Why it ended, for people; nil for a try that is under way.
  package var end: String?
  /// Whether it ended without the file.
  package var failed: Bool
  /// Of the try's latest requests, oldest first; nil for a try that is under way, and from services of earlier versions.
  package var phases: [Phase]?

  /// A part of a request's time.
  package struct Phase: Codable, Sendable, Equatable {
    package enum Name: String, Sendable, CaseIterable {
      case lookup, connect, tls, request, wait, response
    }

    /// That of a `Name`; a newer service may have others.
    package var name: String
    /// Seconds since the try began.
    package var at: Double
    /// Seconds.
    package var duration: Double

    package init(_ name: Name, at: Double, duration: Double) {
      (self.name, self.at, self.duration) = (name.rawValue, at, duration)
    }
  }

  package init(began: Date, offset: Int64) {
    self.began = began
    self.offset = offset
    duration = 0
    received = 0
    failed = false
  }
}
