import Crypto
import Foundation
import Logging
import Synchronization
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// Copies the files of new uploads, so that an app may change them once its tasks are created.
///
/// The app has opened its files, and only what it has opened is read: it may not see what the service sees. A file system
/// that can shares the blocks; elsewhere the bytes are copied and sealed, which may take long or never end, so it happens on
/// threads of its own (`CopyThreads`). A hard link would not do: a program that writes into the file in place would change
/// what is sent. Where there is no room for a copy the app's file is sent, and checked for changes.
struct UploadSnapshots: Sendable {
  /// A new upload, and its file as the app has opened it.
  struct Source: Sendable {
    let task: TransferDescription
    let file: SourceFile
  }

  /// There is no key to seal a copy with.
  struct NoKey: Error {}

  let files: TransferFiles
  let key: QueueKey
  let log: Logger
  private let threads = CopyThreads(name: "upload-copies")

  /// How often a file is copied that changes meanwhile.
  private static let tries = 3

  /// - Parameter key: it has to be known whether there is one.
  init(files: TransferFiles, key: QueueKey, log: Logger) {
    self.files = files
    self.key = key
    self.log = log
  }

  /// The copies of one request that are there, and how many are to come.
  private struct Progress {
    var left: Int
    var taken: [String: StoredUpload] = [:]
    var error: (any Error)?
    var bytes: Int64 = 0
  }

  /// - Parameters:
  ///   - app: the program whose files they are.
  ///   - room: how many bytes the app may have copied; what is more is an error of the task.
  ///   - ended: called once, on any thread, with the files by the tokens of their tasks; or with what is wrong with
  ///     the service's own folder, and then nothing is left there.
  func take(
    _ sources: [Source], of app: String, room: Int64 = .max,
    ended: @escaping @Sendable (Result<[String: StoredUpload], any Error>) -> Void
  ) {
    guard !sources.isEmpty else { return ended(.success([:])) }
    let progress = Shared(Progress(left: sources.count))
    for source in sources {
      threads.run(at: .init(app: app, mount: source.file.mount)) {
        let result = Result {
          try take(source) { size in
            progress.value.withLock { progress in
              let sum = progress.bytes.saturatingAdd(size)
              guard sum <= room else { return false }
              progress.bytes = sum
              return true
            }
          }
        }
        let end = progress.value.withLock { progress -> Progress? in
          switch result {
          case .success(let stored): progress.taken[source.task.token] = stored
          case .failure(let error): progress.error = error
          }
          progress.left -= 1
          return progress.left == 0 ? progress : nil
        }
        guard let end else { return }
        guard let error = end.error else { return ended(.success(end.taken)) }
        discard(end.taken.values.compactMap(\.copyName))
        ended(.failure(error))
      }
    }
  }

  /// A mutex that closures can share.
  private final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
  }

  /// Removes copies that no transfer needs.
  func discard(_ names: [String]) {
    for name in names {
      do { try files.disk.remove("\(files.uploadDirectory)/\(name)") } catch {
        log.warning("a copy of an upload's file was not removed: \(error)")
      }
    }
  }

  /// - Parameter reserve: counts bytes against what the app may have copied; false where they are too many.
  private func take(_ source: Source, reserve: (Int64) -> Bool) throws -> StoredUpload {
    let path = source.task.upload?.path ?? ""
    var stored = StoredUpload(path: path)
    guard source.file.isOpenForReading else {
      stored.problem = "\(path) was passed by the app without the permission to read it."
      return stored
    }
    for number in 1...Self.tries {
      guard let status = try? source.file.regularStatus() else {
        stored.problem = "\(path) is not a file."
        return stored
      }
      let identity = URLLoadingSystem.FileIdentity(status)
      (stored.identity, stored.device) = (identity, UInt64(status.st_dev))
      if let point = source.task.upload?.point {
        guard point.isOf(identity) else {
          stored.problem = "The upload can't be resumed: \(path) does not exist any more or has changed since it began."
          return stored
        }
        stored.place = .init(resource: point.resource, version: point.version, acknowledged: 0)
      }
      guard number > 1 || reserve(identity.size) else {
        stored.problem =
          "\(path) has \(identity.size) bytes, which is more than the app may have the transfer service keep."
        return stored
      }
      let name = "\(UUID().uuidString)\(TransferFiles.newSuffix)"
      let copy: Copy
      do { copy = try self.copy(source, size: identity.size, to: name) } catch let error as SystemError {
        return try stored.withoutCopy(because: error)
      }
      guard copy.count == identity.size else {
        discard([name])
        stored.problem = "\(path) became shorter while the transfer service copied it."
        return stored
      }
      let after = try? URLLoadingSystem.FileIdentity(source.file.regularStatus())
      // One that has only grown is a log, say: its first bytes are what they were.
      if let after, after == identity || after.size > identity.size {
        if let key = copy.key { stored.sealedCopy = SealedCopy(name: name, key: key) } else { stored.copy = name }
        return stored
      }
      discard([name])
    }
    stored.problem = "\(path) was being written while the transfer service copied it."
    return stored
  }

  private struct Copy {
    /// How many bytes of the file it has: fewer than were asked for where the file became shorter.
    var count: Int64
    /// The key of a sealed copy, sealed; nil for one that shares the blocks of the file.
    var key: Data?
  }

  private func copy(_ source: Source, size: Int64, to name: String) throws -> Copy {
    let (disk, target) = (files.disk, "\(files.uploadDirectory)/\(name)")
    let isClone = try disk.clone(source.file, to: target)
    do {
      let copy = isClone ? try cut(target, to: size) : try seal(source, size: size, to: target)
      try disk.syncDirectory(files.uploadDirectory)
      return copy
    } catch {
      discard([name])
      throw error
    }
  }

  /// A clone has the file as it was at one moment, when it may have been longer already.
  private func cut(_ clone: String, to size: Int64) throws -> Copy {
    let file = try files.disk.open(clone)
    defer { try? file.close() }
    let count = min(size, try file.size)
    if try file.size > size { try file.truncate(to: size) }
    try file.sync()
    return Copy(count: count)
  }

  private func seal(_ source: Source, size: Int64, to target: String) throws -> Copy {
    let plainKey = SymmetricKey(size: SymmetricKeySize(bitCount: SealedChunks.keyLength * 8))
    let chunks = SealedChunks(key: plainKey, count: size)
    // A sparse file has any size.
    let claim = files.space.claimCopy(
      chunks.sealedCount, free: try files.disk.freeSpace(at: files.uploadDirectory),
      sparing: TransferFiles.roomBesideCopies)
    guard let claim else { throw SystemError(ENOSPC, "copy", path: target) }
    defer { claim.release() }
    let sealedKey = key.sealFields(
      plainKey.withUnsafeBytes { Data($0) }, for: SealedCopy.purpose(of: source.task.token))
    guard let sealedKey else { throw NoKey() }
    let file = try files.disk.open(target)
    defer { try? file.close() }
    let count = try SealedCopy.write(source.file, as: chunks, to: file) { claim.wrote(rest: chunks.sealedCount - $0) }
    if count == size { try file.sync() }
    return Copy(count: count, key: sealedKey)
  }
}

extension StoredUpload {
  /// Throws what is wrong with the service's folder, but that it is full.
  fileprivate func withoutCopy(because error: SystemError) throws -> StoredUpload {
    if error.isNoSpace || error.code == EFBIG { return self }
    // Those of the source have none.
    guard error.path == nil else { throw error }
    var stored = self
    stored.problem = "\(path) can't be read: \(error)."
    return stored
  }
}

extension UploadPoint {
  fileprivate func isOf(_ identity: URLLoadingSystem.FileIdentity) -> Bool {
    size == identity.size && inode == identity.inode && modified == identity.modified
  }
}
