import Foundation
import TransferProtocol

/// Removes files of transfers, on a queue of its own. What can't be removed now is tried again while the service runs; the
/// next start sweeps what is left then.
extension TransferEngine {
  enum Leftover: Hashable {
    case undelivered(TransferID)
    case delivered(TransferID)
    /// A file of an earlier life of the service, by its path.
    case file(String)
  }

  func removeFiles(_ leftover: Leftover) {
    dispatchPrecondition(condition: .onQueue(queue))
    leftovers.remove(leftover)
    if case .delivered(let id) = leftover { preparedFiles[id] = nil }
    removals.run { [self, files] in
      do { try files.remove(leftover) } catch { enter { $0.notRemoved(leftover, error) } }
    }
  }

  private func notRemoved(_ leftover: Leftover, _ error: any Error) {
    dispatchPrecondition(condition: .onQueue(queue))
    log.warning("a file was not removed and will be tried again: \(error)")
    leftovers.insert(leftover)
    planRemoval()
  }

  private func planRemoval() {
    guard isServing, !timers.isSet(.removal) else { return }
    setTimer(.removal, in: settings.removalPatience) { engine in
      for leftover in engine.leftovers { engine.removeFiles(leftover) }
    }
  }

  /// Removes copies of uploads' files that no transfer needs.
  func removeCopies(_ names: [String]) {
    guard !names.isEmpty else { return }
    removals.run { [snapshots] in snapshots.discard(names) }
  }

  /// A transfer that is over needs no copy of the file that it sends.
  func removeUpload(of transfer: LiveTransfer) {
    guard transfer.sent != nil else { return }
    let id = transfer.id
    removals.run { [files, log] in
      do { try files.removeUpload(id) } catch {
        log.warning("the copy of the file of transfer \(id) was not removed: \(error)")
      }
    }
  }
}

extension TransferFiles {
  fileprivate func remove(_ leftover: TransferEngine.Leftover) throws {
    switch leftover {
    case .undelivered(let id): try removeUndelivered(id)
    case .delivered(let id): try removeDelivered(id)
    case .file(let path): try disk.remove(path)
    }
  }
}
