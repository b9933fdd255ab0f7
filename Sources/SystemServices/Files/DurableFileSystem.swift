import Foundation

/// The file operations that durability rests on, each a thin layer over one or two system calls, so that a test can
/// put a disk in their place that is full, broken or switched off in the middle. All block; none belongs on an event
/// loop. Errors are `SystemError`.
package protocol DurableFileSystem: Sendable {
  /// Opens for reading and writing, made with mode 0600 when it does not exist.
  func open(_ path: String) throws -> any DurableFile
  /// A folder as it is found at a path now. Throws where there is none.
  func folder(_ path: String) throws -> HeldFolder
  /// nil when there is none.
  func size(of path: String) throws -> Int64?
  /// All of a regular file; nil when there is none.
  func content(of path: String) throws -> Data?
  /// Replaces `destination`. Durable only after `syncDirectory` of the folder.
  func rename(_ source: String, to destination: String) throws
  /// A second name for the file: a hard link, or where the file system has no links a copy, whose content is on the disk. Replaces
  /// nothing.
  func link(_ source: String, to destination: String) throws
  /// A hard link of a file that is open, whatever its present name. False, and nothing is made, where the file system can't.
  /// Replaces nothing.
  func link(_ file: SourceFile, to destination: String) throws -> Bool
  /// Makes a file that has the content and the date of another without copying it: the two share their place on the disk
  /// until one of them is changed. False, and nothing is made, where the file system can't. Replaces nothing.
  func clone(_ source: SourceFile, to destination: String) throws -> Bool
  /// The first `count` bytes by copying, or those that there are. Returns how many. When it fails, nothing is left of the
  /// destination; the error has no path where the source can't be read. Replaces nothing.
  func duplicate(_ source: SourceFile, count: Int64, to destination: String) throws -> Int64
  /// A read lease; nil where it is refused. See `FileLease.take`.
  func lease(_ file: SourceFile, telling thread: pid_t) -> FileLease?
  /// Does nothing when there is no such file.
  func remove(_ path: String) throws
  /// Makes the names in a folder durable.
  func syncDirectory(_ path: String) throws
  /// Makes the folder, and those above it, with mode 0700.
  func createDirectory(_ path: String) throws
  /// The names in a folder, sorted; empty when there is no such folder.
  func names(in directory: String) throws -> [String]
  /// Bytes that an unprivileged writer can still use where `path` is.
  func freeSpace(at path: String) throws -> Int64
}

extension DurableFileSystem {
  package func folder(_ path: String) throws -> HeldFolder { try HeldFolder(path) }

  package func link(_ file: SourceFile, to destination: String) throws -> Bool {
    try LinuxFileSystem().link(file, to: destination)
  }

  package func lease(_ file: SourceFile, telling thread: pid_t) -> FileLease? { .take(file, telling: thread) }
}
