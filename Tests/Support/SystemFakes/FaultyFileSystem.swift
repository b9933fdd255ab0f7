import Foundation
import Synchronization
import SystemServices

/// A disk that works until a fault is set: full, broken, or switched off with what was never synced lost.
package final class FaultyFileSystem: DurableFileSystem {
  package enum Operation: String, Sendable, CaseIterable {
    case open, write, sync, truncate, rename, link, syncDirectory
  }

  /// Fails `operation` on paths that contain `path`, after it has succeeded `after` times; for `times` times.
  package struct Fault: Sendable {
    package var operation: Operation
    package var code: Int32
    package var path: String
    package var after: Int
    package var times: Int

    package init(_ operation: Operation, code: Int32, path: String = "", after: Int = 0, times: Int = .max) {
      self.operation = operation
      self.code = code
      self.path = path
      self.after = after
      self.times = times
    }
  }

  private struct State {
    var faults: [Fault] = []
    var freeSpace: Int64?
    var log: [String] = []
    var isOff = false
  }

  private let disk = LinuxFileSystem()
  private let state = Mutex(State())

  package init() {}

  package func set(_ faults: [Fault]) { state.withLock { $0.faults = faults } }
  package func setFreeSpace(_ bytes: Int64?) { state.withLock { $0.freeSpace = bytes } }
  /// From now on every operation fails, as for a process that has died.
  package func switchOff() { state.withLock { $0.isOff = true } }
  /// What was done, in order: `sync partial/1`.
  package var log: [String] { state.withLock { $0.log } }

  fileprivate func check(_ operation: Operation, _ path: String) throws {
    try state.withLock { state in
      if state.isOff { throw SystemError(EIO, operation.rawValue, path: path) }
      for index in state.faults.indices
      where state.faults[index].operation == operation
        && (state.faults[index].path.isEmpty || path.contains(state.faults[index].path))
      {
        if state.faults[index].after > 0 {
          state.faults[index].after -= 1
        } else if state.faults[index].times > 0 {
          state.faults[index].times -= 1
          throw SystemError(state.faults[index].code, operation.rawValue, path: path)
        }
      }
      state.log.append("\(operation.rawValue) \(path.split(separator: "/").suffix(2).joined(separator: "/"))")
    }
  }

  package func open(_ path: String) throws -> any DurableFile {
    try check(.open, path)
    return FaultyFile(file: try disk.open(path), path: path, disk: self)
  }

  package func size(of path: String) throws -> Int64? { try disk.size(of: path) }

  package func rename(_ source: String, to destination: String) throws {
    try check(.rename, source)
    try disk.rename(source, to: destination)
  }

  package func link(_ source: String, to destination: String) throws {
    try check(.link, source)
    try disk.link(source, to: destination)
  }

  package func remove(_ path: String) throws { try disk.remove(path) }

  package func syncDirectory(_ path: String) throws {
    try check(.syncDirectory, path)
    try disk.syncDirectory(path)
  }

  package func createDirectory(_ path: String) throws { try disk.createDirectory(path) }
  package func names(in directory: String) throws -> [String] { try disk.names(in: directory) }

  package func freeSpace(at path: String) throws -> Int64 {
    try state.withLock { $0.freeSpace } ?? disk.freeSpace(at: path)
  }
}

private final class FaultyFile: DurableFile {
  private let file: any DurableFile
  private let path: String
  private let disk: FaultyFileSystem

  init(file: any DurableFile, path: String, disk: FaultyFileSystem) {
    self.file = file
    self.path = path
    self.disk = disk
  }

  var size: Int64 { get throws { try file.size } }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
    try disk.check(.write, path)
    try file.write(bytes, at: offset)
  }

  func truncate(to size: Int64) throws {
    try disk.check(.truncate, path)
    try file.truncate(to: size)
  }

  func sync() throws {
    try disk.check(.sync, path)
    try file.sync()
  }

  func close() throws { try file.close() }
}
