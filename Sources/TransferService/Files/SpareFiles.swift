import Foundation
import Synchronization
import SystemServices

/// Files whose apps have their bytes, emptied to become the parts of later transfers and copies for apps. From any thread.
///
/// A file system may look for the place of a new file among those of all that were removed in the last minutes: ext4 takes a
/// millisecond for it where thousands were.
final class SpareFiles: Sendable {
  /// Larger files are removed: to empty them takes as long.
  static let largestSize: Int64 = 1 << 20
  static let limit = 64

  private struct State {
    var names: [String] = []
    var lastNumber = 0
    /// Transfers whose parts were made in this life of the service, and of which no app has had a name or a descriptor. Only
    /// such files are used again: an app would see what arrives for another one.
    var unshared: Set<TransferID> = []
    /// Transfers whose complete files are being read for an app, and how often.
    var read: [TransferID: Int] = [:]
  }

  private let state = Mutex(State())

  /// The part was made now.
  func made(_ transfer: TransferID) { state.withLock { _ = $0.unshared.insert(transfer) } }

  /// An app gets a name of the part or of the complete file, or it is not ours any more.
  func shared(_ transfer: TransferID) { state.withLock { _ = $0.unshared.remove(transfer) } }

  func isUnshared(_ transfer: TransferID) -> Bool { state.withLock { $0.unshared.contains(transfer) } }

  /// The complete file is not used again while `work` runs.
  func reading<Value>(_ transfer: TransferID, _ work: () throws -> Value) rethrows -> Value {
    state.withLock { $0.read[transfer, default: 0] += 1 }
    defer {
      state.withLock { state in
        let count = (state.read[transfer] ?? 1) - 1
        state.read[transfer] = count > 0 ? count : nil
      }
    }
    return try work()
  }

  /// A name for the file of a transfer, which is not that of a transfer any more; nil where it has to be removed.
  func nameForFile(of transfer: TransferID) -> String? {
    state.withLock { state in
      // Its reader would see what arrives for another transfer.
      guard state.unshared.remove(transfer) != nil, state.read[transfer] == nil, state.names.count < SpareFiles.limit
      else { return nil }
      state.lastNumber += 1
      return "spare-\(state.lastNumber)"
    }
  }

  func put(_ name: String) { state.withLock { $0.names.append(name) } }

  func take() -> String? { state.withLock { $0.names.popLast() } }
}

extension TransferFiles {
  private func spare(_ name: String) -> String { "\(spareDirectory)/\(name)" }

  /// Opens the part of a transfer, which is made where there is none.
  ///
  /// - Parameter count: how many of its bytes count. Without any, a file that has another name as well is left alone: an import
  ///   that was cut off has linked the file of an app.
  func openPart(_ transfer: TransferID, count: Int64 = 0) throws -> any DurableFile {
    if count == 0, partHasOtherName(transfer) { try disk.remove(partial(transfer)) }
    if try disk.size(of: partial(transfer)) == nil {
      // One that has gone is made anew.
      if let name = spares.take() { try? disk.rename(spare(name), to: partial(transfer)) }
      spares.made(transfer)
    }
    return try disk.open(partial(transfer))
  }

  /// Copies a small file into a spare one, which has its bytes on the disk then. False, and nothing is made, where there is none
  /// or that fails.
  func copyIntoSpare(_ file: SourceFile, count: Int64, to path: String) -> Bool {
    guard count <= SpareFiles.largestSize, let name = spares.take() else { return false }
    do {
      try disk.rename(spare(name), to: path)
      let copy = try disk.open(path)
      defer { try? copy.close() }
      var bytes = [UInt8](repeating: 0, count: Int(min(count, 1 << 18)))
      var offset: Int64 = 0
      while offset < count {
        let read = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
        guard read > 0 else { throw SystemError(EIO, "copy", path: path) }
        let piece = Int(min(Int64(read), count - offset))
        try bytes.withUnsafeBytes { try copy.write(UnsafeRawBufferPointer(rebasing: $0.prefix(piece)), at: offset) }
        offset += Int64(piece)
      }
      try copy.sync()
      return true
    } catch {
      try? disk.remove(spare(name))
      try? disk.remove(path)
      return false
    }
  }

  /// Its app has it: it is emptied and kept, or removed.
  func removeComplete(_ transfer: TransferID) throws {
    let path = complete(transfer)
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
      status.st_size <= SpareFiles.largestSize, let name = spares.nameForFile(of: transfer)
    else {
      spares.shared(transfer)
      return try removeFile("\(transfer)", in: TransferFiles.completeName)
    }
    do {
      try disk.rename(path, to: spare(name))
      let file = try disk.open(spare(name))
      defer { try? file.close() }
      try file.truncate(to: 0)
    } catch {
      try? disk.remove(spare(name))
      return try removeFile("\(transfer)", in: TransferFiles.completeName)
    }
    spares.put(name)
  }
}
