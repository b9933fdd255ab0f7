import Foundation
import TransferProtocol

/// Removes files of transfers. What can't be removed now is tried again while the service runs; the next start sweeps what
/// is left then.
extension TransferEngine {
  enum Leftover: Hashable {
    case undelivered(TransferID)
    case delivered(TransferID)
    /// A file of an earlier life of the service, by its path.
    case file(String)
  }

  func removeFiles(_ leftover: Leftover) {
    dispatchPrecondition(condition: .onQueue(queue))
    do {
      try remove(leftover)
      leftovers.remove(leftover)
    } catch {
      log.warning("a file was not removed and will be tried again: \(error)")
      leftovers.insert(leftover)
      planRemoval()
    }
  }

  private func remove(_ leftover: Leftover) throws {
    switch leftover {
    case .undelivered(let id): try files.removeUndelivered(id)
    case .delivered(let id):
      preparedFiles[id] = nil
      try files.removeDelivered(id)
    case .file(let path): try files.disk.remove(path)
    }
  }

  private func planRemoval() {
    guard isServing, !timers.isSet(.removal) else { return }
    setTimer(.removal, in: settings.removalPatience) { engine in
      for leftover in engine.leftovers { engine.removeFiles(leftover) }
    }
  }
}
