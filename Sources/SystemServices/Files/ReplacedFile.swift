import Foundation

/// A small file that several processes change by replacing it as a whole: at every moment its name stands for all of the
/// old content or all of the new. It has mode 0600. All calls block.
package struct ReplacedFile: Sendable {
  package let path: String
  private let files: any DurableFileSystem
  private let limit: Duration

  /// - Parameters:
  ///   - path: The file. Its folder must exist before the file is changed.
  ///   - limit: For how long `withLock` waits for other processes.
  package init(path: String, files: any DurableFileSystem = LinuxFileSystem(), limit: Duration = .seconds(10)) {
    self.path = path
    self.files = files
    self.limit = limit
  }

  package var folder: String { (path as NSString).deletingLastPathComponent }

  /// Runs `body` while no other process does so for this file: it takes the lock `PATH.lock`. Changes that depend on what
  /// the file has belong in here.
  /// - Throws: `BlockingCalls.Expired` where the lock is not free in time.
  package func withLock<Result>(_ body: () throws -> Result) throws -> Result {
    let lock = try FileLock.acquire(path + ".lock", within: limit)
    return try withExtendedLifetime(lock) { try body() }
  }

  /// Replaces the content. The new file is on the disk before it has the name; the old one keeps it until then.
  /// - Parameter check: Called just before the new file takes the name. It throws where the old one is to keep it.
  package func replace(with content: UnsafeRawBufferPointer, unless check: () throws -> Void = {}) throws {
    try files.replace(path, unless: check) { try $0.write(content, at: 0) }
  }
}
