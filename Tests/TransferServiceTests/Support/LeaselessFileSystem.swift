import Foundation
import SystemServices

/// The disk, as if its file system had neither clones nor leases.
struct LeaselessFileSystem: DurableFileSystem {
  private let disk = LinuxFileSystem()

  func lease(_ file: SourceFile, telling thread: pid_t) -> FileLease? { nil }
  func clone(_ source: SourceFile, to destination: String) throws -> Bool { false }
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
