import Foundation
import Synchronization

/// A log of a limited size that several processes append to. When it is full, its content is copied to a file of the same
/// name with `.1` behind it, which replaces the one before, and it is emptied: other processes that have it open go on
/// with the same file. May be used from any thread; one process limits it.
package final class LogFile: Sendable {
  private let path: String
  private let descriptor: Int32
  private let maximumSize: Int64
  /// Bytes that were written since the size was looked at; nil when it never was.
  private let unchecked = Mutex<Int?>(nil)

  /// The size is looked at once in so many bytes.
  private static let checkInterval = 64 << 10

  /// The path of the copy of a log that was full.
  package static func olderPath(of path: String) -> String { path + ".1" }

  /// - Parameter descriptor: of the file, open for appending.
  package init(path: String, descriptor: Int32, maximumSize: Int64 = 4 << 20) {
    self.path = path
    self.descriptor = descriptor
    self.maximumSize = maximumSize
  }

  /// Appends a line.
  package func write(_ line: [UInt8]) {
    // One write, so that lines of several threads do not mix.
    _ = Glibc.write(descriptor, line, line.count)
    unchecked.withLock { unchecked in
      let count = unchecked.map { $0 + line.count } ?? .max
      unchecked = count < LogFile.checkInterval ? count : 0
      if unchecked == 0 { limit() }
    }
  }

  private func limit() {
    var (ours, named) = (stat(), stat())
    guard fstat(descriptor, &ours) == 0, ours.st_size > maximumSize else { return }
    // A file that was put in its place is not ours to copy; without the space for a copy there is none.
    if lstat(path, &named) == 0, named.st_ino == ours.st_ino, named.st_dev == ours.st_dev {
      let content = try? Data(contentsOf: URL(fileURLWithPath: path))
      if let content { try? replaceCopy(content.suffix(Int(maximumSize) + LogFile.checkInterval)) }
    }
    _ = ftruncate(descriptor, 0)
  }

  private func replaceCopy(_ content: Data) throws {
    try LinuxFileSystem().replace(LogFile.olderPath(of: path)) { file in
      try content.withUnsafeBytes { try file.write($0, at: 0) }
    }
  }
}
