import Dispatch
import Logging
import SystemServices
import TransferProtocol

/// Makes files of the bytes of downloads that were cancelled or have failed, with which their apps may begin again. They are on the disk when they are
/// told, so this happens on a serial queue of its own. Those of a call wait for the disk once.
final class ResumeFileExporter: Sendable {
  /// The means to go on with a transfer.
  struct Export: Sendable {
    var point: ResumePoint?
    /// Of an upload, which has no file.
    var uploadPoint: UploadPoint?
    /// A folder is gone that may come back with the bytes.
    var missing: SystemError?
  }

  private let queue = DispatchQueue(label: "transfer-service.resume-export", qos: .utility)
  private let store: TransferStore
  private let files: TransferFiles
  private let key: QueueKey
  private let log: Logger

  init(store: TransferStore, files: TransferFiles, key: QueueKey, log: Logger) {
    self.store = store
    self.files = files
    self.key = key
    self.log = log
  }

  /// - Parameters:
  ///   - transfers: do not run.
  ///   - ended: called once, on the exporter's queue. A transfer without bytes that are worth keeping has no point.
  func start(_ transfers: [TransferID], ended: @escaping @Sendable ([TransferID: Export]) -> Void) {
    queue.async { ended(self.export(transfers)) }
  }

  private func export(_ transfers: [TransferID]) -> [TransferID: Export] {
    dispatchPrecondition(condition: .onQueue(queue))
    var exports = Dictionary(transfers.map { ($0, export($0)) }) { first, _ in first }
    let paths = exports.values.compactMap(\.point?.path)
    guard !paths.isEmpty else { return exports }
    do { try files.syncResumeFiles() } catch {
      log.error("\(paths.count) transfers end without resume points: \(error)")
      // No app is told of them.
      for path in paths { try? files.disk.remove(path) }
      for id in transfers { exports[id]?.point = nil }
    }
    return exports
  }

  private func export(_ id: TransferID) -> Export {
    dispatchPrecondition(condition: .onQueue(queue))
    do {
      guard let stored = try store.transfer(id) else { return Export() }
      return Export(point: try makePoint(stored), uploadPoint: stored.upload?.point)
    } catch let error as SystemError where error.isNotFound && error.path?.hasPrefix(files.directory) == true {
      return Export(missing: error)
    } catch {
      log.error("transfer \(id) ends without a resume point: \(error)")
      return Export()
    }
  }

  /// Only bytes that a later request can prove to belong to the same resource are worth keeping.
  private func makePoint(_ stored: StoredTransfer) throws -> ResumePoint? {
    guard !stored.isDamaged, stored.head.committedOffset > 0, let validator = stored.validator,
      validator.condition != nil,
      let size = try files.size(of: "\(stored.head.id)", in: TransferFiles.partialName),
      size >= stored.head.committedOffset
    else { return nil }
    try files.requireFolder(TransferFiles.deliveryName)
    var point = ResumePoint(
      path: try files.makeResumeFile(stored.head.id), offset: stored.head.committedOffset,
      url: stored.description.request.url, expectedTotal: stored.head.expectedTotal)
    point.entityTag = validator.entityTag
    point.lastModified = validator.lastModified
    let response = stored.response.map { key.opened($0, of: stored.head.id).known }
    point.serverDate = response?.headers.first { $0.name.lowercased() == "date" }?.value
    return point
  }
}
