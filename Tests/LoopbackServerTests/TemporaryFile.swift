import Foundation

/// A path for a file of one test, removed with the value that names it.
final class TemporaryFile: Sendable {
  let path = FileManager.default.temporaryDirectory.appendingPathComponent("loopback-\(UUID().uuidString)").path

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }
}
