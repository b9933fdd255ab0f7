import Dispatch
import LoopbackServer
import Synchronization
import SystemServices

/// The disk, which answers to no opening of a path with a certain part until it is released.
final class HeldFileSystem: DurableFileSystem {
  private let disk = LinuxFileSystem()
  private let part: String
  private let hold = DispatchSemaphore(value: 0)
  private let isReleased = Mutex(false)
  /// Open once something waits.
  let isHeld = Gate()

  init(holding part: String) { self.part = part }

  func release() {
    isReleased.withLock { $0 = true }
    hold.signal()
  }

  func open(_ path: String) throws -> any DurableFile {
    if path.contains(part), !isReleased.withLock({ $0 }) {
      isHeld.open()
      hold.wait()
      hold.signal()
    }
    return try disk.open(path)
  }

  func clone(_ source: SourceFile, to destination: String) throws -> Bool { false }
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
  func freeSpace(at path: String) throws -> Int64 { try disk.freeSpace(at: path) }
}
