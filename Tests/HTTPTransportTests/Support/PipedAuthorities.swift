import Foundation
import LoopbackServer

/// A store of certificate authorities that is a pipe, so that reading it waits for the test.
struct PipedAuthorities {
  let path: String
  private let content: Data

  init() throws {
    content = try Data(contentsOf: URL(fileURLWithPath: TestCertificates.shared().authorityFile))
    path = NSTemporaryDirectory() + "authorities-\(UUID().uuidString)"
    guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.EIO) }
  }

  /// Returns when something reads the store. The result is its other end, for `end`.
  func opened() async throws -> Int32 {
    var writer: Int32 = -1
    try await eventually("the store to be opened") {
      writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return writer >= 0
    }
    return writer
  }

  /// Lets the reading end.
  ///
  /// - Returns: whether all was taken.
  func end(_ writer: Int32) -> Bool {
    defer { close(writer) }
    return content.withUnsafeBytes { write(writer, $0.baseAddress, $0.count) } == content.count
  }

  func remove() { unlink(path) }
}
