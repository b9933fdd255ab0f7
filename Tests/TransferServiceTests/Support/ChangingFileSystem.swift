import Foundation
import SystemServices

/// The disk, with something that happens while a file is copied.
struct ChangingFileSystem: DurableFileSystem {
  /// Called with the number of the copy's bytes before they are copied, and after that.
  var before: @Sendable (SourceFile) -> Void = { _ in }
  var after: @Sendable (SourceFile) -> Void = { _ in }
  private let disk = LinuxFileSystem()

  init(before: @escaping @Sendable (SourceFile) -> Void, after: @escaping @Sendable (SourceFile) -> Void = { _ in }) {
    self.before = before
    self.after = after
  }

  func clone(_ source: SourceFile, to destination: String) throws -> Bool { false }

  func duplicate(_ source: SourceFile, count: Int64, to destination: String) throws -> Int64 {
    before(source)
    defer { after(source) }
    return try disk.duplicate(source, count: count, to: destination)
  }

  func open(_ path: String) throws -> any DurableFile { try disk.open(path) }
  func size(of path: String) throws -> Int64? { try disk.size(of: path) }
  func rename(_ source: String, to destination: String) throws { try disk.rename(source, to: destination) }
  func link(_ source: String, to destination: String) throws { try disk.link(source, to: destination) }
  func remove(_ path: String) throws { try disk.remove(path) }
  func syncDirectory(_ path: String) throws { try disk.syncDirectory(path) }
  func createDirectory(_ path: String) throws { try disk.createDirectory(path) }
  func names(in directory: String) throws -> [String] { try disk.names(in: directory) }
  func freeSpace(at path: String) throws -> Int64 { try disk.freeSpace(at: path) }
}
