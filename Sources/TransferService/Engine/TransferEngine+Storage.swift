import Foundation
import SystemServices
import TransferProtocol

/// Holds transfers back while the service's own storage can't be used: nothing starts, so that no server is asked for what
/// can't be kept, until a probe of the folders and the queue succeeds.
extension TransferEngine {
  /// A run could not keep its bytes.
  func storageFailed(_ sentence: String) {
    dispatchPrecondition(condition: .onQueue(queue))
    if storage.isAvailable { log.error("transfers wait for the storage: \(sentence)") }
    storage.failed(sentence, at: clock.now)
    planStorageProbe()
  }

  /// Something else than a run has met a fault. It may be that of one file, so other transfers go on unless a probe finds one as
  /// well. A full disk keeps back only what it has no room for.
  func storageIsSuspect(after error: any Error) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !SpaceShortage.isCause(of: error), StorageFault.sentence(ofReading: error, in: files.directory) != nil else {
      return
    }
    planStorageProbe()
  }

  /// The folder of the queue was moved away, or something covers it. What runs stops and keeps what it has, unless its answer can't be
  /// asked for again. May be called on any thread, and more than once.
  func folderIsAway() {
    enter { engine in
      guard engine.isServing else { return }
      engine.storageFailed(engine.awaySentence)
      for id in engine.runs.keys { engine.post(.gaveWay, to: id) }
    }
  }

  private var awaySentence: String {
    "The folder of the transfer service, \(files.directory), is gone; transfers go on when it is there again."
  }

  private func planStorageProbe() {
    guard isServing, !isProbingStorage, !timers.isSet(.storage) else { return }
    setTimer(.storage, in: settings.storagePatience) { $0.probeStorage() }
  }

  /// Off the engine's queue: a disk that hangs is no reason to answer no app.
  private func probeStorage() {
    guard isServing, !isProbingStorage else { return }
    isProbingStorage = true
    let (files, store, replaces) = (self.files, self.store, storage.replacesLostFolders(at: clock.now))
    probes.async {
      let result = Result {
        // A probe of another folder in its place says nothing.
        try store.checkFolder()
        if replaces { try files.replaceLostDirectories() }
        try files.probe()
        try store.probe()
        store.restoreReserve()
      }
      self.enter { $0.storageProbed(result) }
    }
  }

  private func storageIsWell() {
    releaseEndsAwaitingStorage()
    newTasks.writeAgain()
    guard !storage.isAvailable else { return }
    log.notice("the storage can be used again")
    storage.recovered()
    renewRunMarks()
    scheduler.clockMoved()
    for id in transfers.ids { tellWatchers(of: id) }
  }

  private func storageProbed(_ result: Result<Void, any Error>) {
    isProbingStorage = false
    switch result {
    case .success: storageIsWell()
    case .failure(let error):
      let sentence = store.isAway ? awaySentence : StorageFault.sentence(of: error, in: files.directory)
      storageFailed(sentence ?? "The storage of the service can't be used: \(error).")
    }
  }
}
