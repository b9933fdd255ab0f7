import Foundation

/// An open file of a `DurableFileSystem`. One owner at a time.
package protocol DurableFile: AnyObject, Sendable {
  var size: Int64 { get throws }
  /// Writes all of `bytes` at `offset`.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws
  func truncate(to size: Int64) throws
  /// Takes room on the disk for the first `count` bytes, so that writing them needs none later. The size stays. Does nothing
  /// where the file system can't.
  func reserve(_ count: Int64) throws
  /// Returns once the content, and the size needed to read it, is on the disk (`fdatasync`).
  func sync() throws
  func close() throws
}
