import Foundation
import Synchronization
import SystemServices

/// The disk, with something that happens while a file is copied: once its copy is open, and when that is written.
final class ChangingFileSystem: DurableFileSystem {
  private let before: @Sendable (SourceFile) -> Void
  private let after: @Sendable (SourceFile) -> Void
  private let free: Int64?
  private let disk = LinuxFileSystem()
  /// The files that are copied, by the paths of their copies.
  private let sources = Mutex<[String: SourceFile]>([:])

  /// - Parameter free: the space of the disk; nil: what it has.
  init(
    free: Int64? = nil, before: @escaping @Sendable (SourceFile) -> Void = { _ in },
    after: @escaping @Sendable (SourceFile) -> Void = { _ in }
  ) {
    self.free = free
    self.before = before
    self.after = after
  }

  private final class Copy: DurableFile {
    private let file: any DurableFile
    private let synced: @Sendable () -> Void

    init(_ file: any DurableFile, synced: @escaping @Sendable () -> Void) { (self.file, self.synced) = (file, synced) }

    var size: Int64 { get throws { try file.size } }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws { try file.write(bytes, at: offset) }
    func truncate(to size: Int64) throws { try file.truncate(to: size) }
    func reserve(_ count: Int64) throws { try file.reserve(count) }
    func sync() throws {
      try file.sync()
      synced()
    }
    func close() throws { try file.close() }
  }

  func clone(_ source: SourceFile, to destination: String) throws -> Bool {
    sources.withLock { $0[destination] = source }
    return false
  }

  func open(_ path: String) throws -> any DurableFile {
    let file = try disk.open(path)
    guard let source = sources.withLock({ $0[path] }) else { return file }
    before(source)
    return Copy(file) { [after] in after(source) }
  }

  func duplicate(_ source: SourceFile, count: Int64, to destination: String) throws -> Int64 {
    try disk.duplicate(source, count: count, to: destination)
  }
  func size(of path: String) throws -> Int64? { try disk.size(of: path) }
  func rename(_ source: String, to destination: String) throws { try disk.rename(source, to: destination) }
  func link(_ source: String, to destination: String) throws { try disk.link(source, to: destination) }
  func remove(_ path: String) throws { try disk.remove(path) }
  func syncDirectory(_ path: String) throws { try disk.syncDirectory(path) }
  func createDirectory(_ path: String) throws { try disk.createDirectory(path) }
  func names(in directory: String) throws -> [String] { try disk.names(in: directory) }
  func freeSpace(at path: String) throws -> Int64 { try free ?? disk.freeSpace(at: path) }
}
