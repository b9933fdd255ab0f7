import Dispatch
import HTTPSemantics
import Logging
import SystemServices
import TransferProtocol

/// Makes the file that an app gave the beginning of its download. Without it the download starts at zero.
///
/// That file may be on another file system and have to be copied, which is no work for the engine's queue: it happens on
/// a queue of its own, one file at a time. A service that ends in the middle leaves the original where it was, and the
/// next one imports it when the transfer starts.
struct ResumeFileImporter: Sendable {
  let store: TransferStore
  let files: TransferFiles
  let log: Logger
  private let queue = DispatchQueue(label: "transfer-engine.resume-files", qos: .utility)

  init(store: TransferStore, files: TransferFiles, log: Logger) {
    self.store = store
    self.files = files
    self.log = log
  }

  /// The file of a resume point that an app gave to a transfer, where it can be imported; nil when the download has to
  /// start at zero.
  func file(
    _ point: ResumePoint?, validator: ResumeValidator?, for id: TransferID, of app: AppID
  ) throws -> TransferMachine.ResumeImport? {
    guard let point, point.offset > 0, validator?.condition != nil else { return nil }
    let file = ResumeFile(path: point.path, files: files, transfer: id)
    guard try file.isNamedAsOurs({ try store.transfer($0)?.app == app }), (try? file.open()) != nil else {
      log.notice("transfer \(id) starts at zero: its file was not made for this app")
      return nil
    }
    return TransferMachine.ResumeImport(point: point, validator: validator)
  }

  /// - Parameter ended: called once with the number of bytes that are in place, on the importer's queue.
  func start(
    _ file: TransferMachine.ResumeImport, for id: TransferID, ended: @escaping @Sendable (Int64) -> Void
  ) {
    queue.async { ended(place(file.point, for: id)) }
  }

  private func place(_ point: ResumePoint, for id: TransferID) -> Int64 {
    var placed: Int64 = 0
    do {
      // Another file may have its path by now, so it is checked once more, and used as it was opened.
      let file = try ResumeFile(path: point.path, files: files, transfer: id).open()
      guard try files.takeOver(file, for: id, count: point.offset) else { return 0 }
      try store.commit(offset: point.offset, representation: nil, of: id)
      placed = point.offset
      // The original goes only now: until here a crash would have left it to the app.
      try file.removeName()
    } catch {
      log.notice("transfer \(id) starts at zero, or its file was left: \(error)")
      // Starting at zero must not empty the original, which may be the same file.
      if placed == 0 { try? files.disk.remove(files.partial(id)) }
    }
    return placed
  }
}
