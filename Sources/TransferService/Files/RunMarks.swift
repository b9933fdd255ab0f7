import Foundation
import SystemServices

/// A file that has the numbers of the transfers that run, so that the service that comes after a crash knows them. Each has a
/// place of its own in it, which is written in one call.
///
/// It is not synchronised: it outlives the process, and a machine that fails is no fault of a transfer. Its name says which
/// start of the machine it is of. Where it is removed, also with its folder, both are made anew. Earlier versions of the service
/// had an empty file for each transfer, `NUMBER.BOOT`.
///
/// Its owner, the engine, calls it on its queue alone.
final class RunMarks {
  private let directory: String
  private let disk: any DurableFileSystem
  private let bootID: String
  private var file: (any DurableFile)?
  private var places: [TransferID: Int] = [:]
  private var freePlaces: [Int] = []

  init(directory: String, disk: any DurableFileSystem, bootID: String) {
    self.directory = directory
    self.disk = disk
    self.bootID = bootID
  }

  deinit { try? file?.close() }

  private var path: String { "\(directory)/\(bootID)" }

  func set(_ transfer: TransferID) throws {
    guard places[transfer] == nil else { return }
    let place = freePlaces.last ?? places.count
    try write(transfer, at: place)
    if !freePlaces.isEmpty { freePlaces.removeLast() }
    places[transfer] = place
  }

  func clear(_ transfer: TransferID) throws {
    guard let place = places.removeValue(forKey: transfer) else { return }
    do { try write(0, at: place) } catch {
      // A file that is lost has no mark.
      if file == nil { freePlaces.append(place) } else { places[transfer] = place }
      throw error
    }
    freePlaces.append(place)
  }

  /// Folders that were lost may have been made again.
  func renew() throws { if !places.isEmpty { _ = try current() } }

  private func write(_ transfer: TransferID, at place: Int) throws {
    try RunMarks.write(transfer, at: place, in: current())
  }

  private static func write(_ transfer: TransferID, at place: Int, in file: any DurableFile) throws {
    try withUnsafeBytes(of: transfer.littleEndian) { try file.write($0, at: Int64(place * $0.count)) }
  }

  /// The file with all marks that are set.
  private func current() throws -> any DurableFile {
    if let file, try disk.size(of: path) != nil { return file }
    try? file?.close()
    file = nil
    let new = try opened()
    do { for (transfer, place) in places { try RunMarks.write(transfer, at: place, in: new) } } catch {
      try? new.close()
      throw error
    }
    file = new
    return new
  }

  /// Without the marks of an earlier service whose file could not be removed: those would count once more. Makes the folder
  /// where it alone is gone; that of the service is not made here.
  private func opened() throws -> any DurableFile {
    let file: any DurableFile
    do { file = try disk.open(path) } catch let error as SystemError where error.isNotFound {
      guard try disk.size(of: (directory as NSString).deletingLastPathComponent) != nil else { throw error }
      try disk.createDirectory(directory)
      file = try disk.open(path)
    }
    do { try file.truncate(to: 0) } catch {
      try? file.close()
      throw error
    }
    return file
  }

  /// Removes all of them.
  ///
  /// - Parameter failed: Called with each file that can't be removed. It does not count, now and at the next start.
  /// - Returns: The transfers that ran when the process ended, since this start of the machine.
  func takeAll(failed: (String, any Error) -> Void = { _, _ in }) throws -> Set<TransferID> {
    var transfers: Set<TransferID> = []
    for name in try disk.names(in: directory) {
      let marked = name == bootID ? RunMarks.transfers(in: path) : []
      do { try disk.remove("\(directory)/\(name)") } catch {
        failed(name, error)
        continue
      }
      transfers.formUnion(marked)
      let parts = name.split(separator: ".", maxSplits: 1)
      guard parts.count == 2, parts[1] == bootID, let transfer = TransferID(String(parts[0])) else { continue }
      transfers.insert(transfer)
    }
    return transfers
  }

  /// Those that a file has; none where it can't be read.
  static func transfers(in path: String) -> [TransferID] {
    let content = FileManager.default.contents(atPath: path) ?? Data()
    return content.withUnsafeBytes { bytes in
      (0..<bytes.count / MemoryLayout<TransferID>.size)
        .map { TransferID(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: TransferID.self)) }
        .filter { $0 > 0 }
    }
  }
}
