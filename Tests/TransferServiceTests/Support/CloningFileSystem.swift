import Foundation
import SystemServices

/// The disk, as if its file system had clones: they are copies with the same date.
struct CloningFileSystem: DurableFileSystem {
  private let disk = LinuxFileSystem()

  func clone(_ source: SourceFile, to destination: String) throws -> Bool {
    let status = try source.regularStatus()
    _ = try disk.duplicate(source, count: Int64(status.st_size), to: destination)
    guard utimensat(AT_FDCWD, destination, [status.st_atim, status.st_mtim], 0) == 0 else {
      throw SystemError(errno, "utimensat", path: destination)
    }
    return true
  }

  func duplicate(_ source: SourceFile, count: Int64, to destination: String) throws -> Int64 {
    try disk.duplicate(source, count: count, to: destination)
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
