import Dispatch
import Foundation
import Synchronization
import SystemServices

/// A disk that works until a fault is set: full, broken, or switched off with what was never synced lost.
package final class FaultyFileSystem: DurableFileSystem {
  package enum Operation: String, Sendable, CaseIterable {
    case open, write, sync, truncate, rename, link, syncDirectory, copy
    /// It has faults, and is in no log.
    case read
    /// It has faults, and is in no log.
    case list
    /// It is in no log.
    case remove
    /// It can be held, and has no faults.
    case folder
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
    /// How many more operations there is power for; nil for ever.
    var remaining: Int?
    var unsynced = UnsyncedChanges()

    mutating func switchOff() {
      isOff = true
      unsynced.lose()
    }

    mutating func check(_ operation: Operation, _ path: String) throws {
      if remaining == 0, !isOff { switchOff() }
      if isOff { throw SystemError(EIO, operation.rawValue, path: path) }
      remaining? -= 1
      try fail(operation, path)
      log.append("\(operation.rawValue) \(path.split(separator: "/").suffix(2).joined(separator: "/"))")
    }

    mutating func fail(_ operation: Operation, _ path: String) throws {
      for index in faults.indices
      where faults[index].operation == operation
        && (faults[index].path.isEmpty || path.contains(faults[index].path))
      {
        if faults[index].after > 0 {
          faults[index].after -= 1
        } else if faults[index].times > 0 {
          faults[index].times -= 1
          throw SystemError(faults[index].code, operation.rawValue, path: path)
        }
      }
    }
  }

  /// Keeps an operation waiting, as a disk that hangs.
  private final class Hold: Sendable {
    private let operation: Operation
    private let path: String
    private let end = DispatchSemaphore(value: 0)
    private let isReachedNow = Atomic<Bool>(false)

    init(_ operation: Operation, path: String) { (self.operation, self.path) = (operation, path) }

    var isReached: Bool { isReachedNow.load(ordering: .acquiring) }

    func pass(_ operation: Operation, _ path: String) {
      guard operation == self.operation, path.contains(self.path) else { return }
      isReachedNow.store(true, ordering: .releasing)
      end.wait()
      end.signal()
    }

    func release() { end.signal() }
  }

  private let disk = LinuxFileSystem()
  private let state = Mutex(State())
  private let hold = Mutex<Hold?>(nil)
  private let watch = Mutex<(@Sendable (String) -> Void)?>(nil)

  package init() {}

  /// Runs `body` while `operation` waits on paths that contain `path`.
  ///
  /// - Parameter body: is given whether one waits.
  package func holding<Value>(
    _ operation: Operation, path: String, _ body: (@escaping @Sendable () -> Bool) async throws -> Value
  ) async rethrows -> Value {
    let new = Hold(operation, path: path)
    hold.withLock { $0 = new }
    defer {
      hold.withLock { $0 = nil }
      new.release()
    }
    return try await body { new.isReached }
  }

  /// Has `action` called with each path whose size was told.
  package func watchSizes(_ action: (@Sendable (String) -> Void)?) { watch.withLock { $0 = action } }

  package func set(_ faults: [Fault]) { state.withLock { $0.faults = faults } }

  /// How often the faults of `operation` on `path` are still to come.
  package func faultsLeft(of operation: Operation, _ path: String) -> Int {
    state.withLock { $0.faults.filter { $0.operation == operation && $0.path == path }.map(\.times).reduce(0, +) }
  }
  package func setFreeSpace(_ bytes: Int64?) { state.withLock { $0.freeSpace = bytes } }
  /// The power goes: what was not synced is gone, names in folders that were not synced included, and from now on every
  /// operation fails. What a real disk would keep of that by luck is lost here.
  package func switchOff() { state.withLock { $0.switchOff() } }
  /// The same after so many more operations.
  package func switchOff(afterOperations count: Int) { state.withLock { $0.remaining = count } }
  package var isOff: Bool { state.withLock { $0.isOff } }
  /// What was done, in order: `sync partial/1`.
  package var log: [String] { state.withLock { $0.log } }

  /// One at a time, so that nothing reaches the disk once it is off.
  fileprivate func perform<Value: Sendable>(
    _ operation: Operation, _ path: String, _ work: (inout UnsyncedChanges) throws -> Value
  ) throws -> Value {
    hold.withLock { $0 }?.pass(operation, path)
    return try state.withLock { state in
      try state.check(operation, path)
      return try work(&state.unsynced)
    }
  }

  package func open(_ path: String) throws -> any DurableFile {
    let file = try perform(.open, path) { unsynced in
      let isNew = try disk.size(of: path) == nil
      let file = try disk.open(path)
      if isNew { unsynced.made(path) }
      return file
    }
    return FaultyFile(file: file, path: path, disk: self)
  }

  package func folder(_ path: String) throws -> HeldFolder {
    hold.withLock { $0 }?.pass(.folder, path)
    return try disk.folder(path)
  }

  package func size(of path: String) throws -> Int64? {
    let size = try disk.size(of: path)
    watch.withLock { $0 }?(path)
    return size
  }

  package func content(of path: String) throws -> Data? {
    try state.withLock { try $0.fail(.read, path) }
    return try disk.content(of: path)
  }

  package func rename(_ source: String, to destination: String) throws {
    try perform(.rename, source) { unsynced in
      let replaced = FileManager.default.contents(atPath: destination)
      try disk.rename(source, to: destination)
      unsynced.moved(source, to: destination, replaced: replaced)
    }
  }

  package func link(_ source: String, to destination: String) throws {
    try perform(.link, source) { unsynced in
      try disk.link(source, to: destination)
      unsynced.made(destination)
    }
  }

  /// With a fault that tells that there are no hard links, it makes none.
  package func link(_ file: SourceFile, to destination: String) throws -> Bool {
    do {
      return try perform(.link, destination) { unsynced in
        guard try disk.link(file, to: destination) else { return false }
        unsynced.made(destination)
        return true
      }
    } catch let error as SystemError where LinuxFileSystem.noLink.contains(error.code) { return false }
  }

  /// As on a file system that can't.
  package func clone(_ source: SourceFile, to destination: String) throws -> Bool { false }

  package func duplicate(_ source: SourceFile, count: Int64, to destination: String) throws -> Int64 {
    try perform(.copy, destination) { unsynced in
      let copied = try disk.duplicate(source, count: count, to: destination)
      unsynced.made(destination)
      return copied
    }
  }

  package func remove(_ path: String) throws {
    hold.withLock { $0 }?.pass(.remove, path)
    try state.withLock { state in
      if state.isOff { throw SystemError(EIO, "unlink", path: path) }
      try state.fail(.remove, path)
      try disk.remove(path)
      state.unsynced.removed(path)
    }
  }

  package func syncDirectory(_ path: String) throws {
    try perform(.syncDirectory, path) { unsynced in
      try disk.syncDirectory(path)
      unsynced.syncedDirectory(path)
    }
  }

  package func createDirectory(_ path: String) throws { try disk.createDirectory(path) }

  package func names(in directory: String) throws -> [String] {
    try state.withLock { try $0.fail(.list, directory) }
    return try disk.names(in: directory)
  }

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
    try disk.perform(.write, path) { unsynced in
      unsynced.willWrite(path, offset..<offset + Int64(bytes.count))
      try file.write(bytes, at: offset)
    }
  }

  func truncate(to size: Int64) throws {
    try disk.perform(.truncate, path) { unsynced in
      unsynced.willTruncate(path, to: size)
      try file.truncate(to: size)
    }
  }

  func reserve(_ count: Int64) throws { try file.reserve(count) }

  func sync() throws {
    try disk.perform(.sync, path) { unsynced in
      try file.sync()
      unsynced.synced(path)
    }
  }

  func close() throws { try file.close() }
}
