import Foundation

/// The file that a download must bring. nil: nothing is known of it.
package struct ContentExpectation: Codable, Sendable, Hashable {
  /// The length of a SHA-256 in bytes.
  package static let sha256Length = 32

  /// 32 bytes.
  package var sha256: Data?
  package var byteCount: Int64?

  package init(sha256: Data? = nil, byteCount: Int64? = nil) {
    self.sha256 = sha256
    self.byteCount = byteCount
  }

  /// Whether a file can be what is expected.
  package var isSound: Bool { sha256.map { $0.count == Self.sha256Length } ?? true && (byteCount ?? 0) >= 0 }
}

/// In what a download is not what was expected. One of the pairs is set, or the status.
package struct MismatchDescription: Codable, Sendable, Hashable {
  package var expectedSHA256: Data?
  package var receivedSHA256: Data?
  package var expectedByteCount: Int64?
  package var receivedByteCount: Int64?
  /// The HTTP status of an answer that is not the content.
  package var status: Int?

  package init() {}
}
