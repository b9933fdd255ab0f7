import Foundation
import TransferProtocol

/// Makes the files of finished downloads ready for their apps: they are leased or copied, which takes a while, on threads of its
/// own. The events of a session wait for it, since they are sent in order.
extension TransferEngine {
  /// A file for the next delivery of a transfer's event.
  enum PreparedFile {
    case preparing
    /// nil: the app has lost it.
    case ready(String?)
    /// The app has written into it, or something else has its name.
    case changed
    case failed(any Error)
  }

  /// How many files of a session are prepared ahead.
  private static let filesAhead = 4

  /// The file of an event, for one delivery: `.ready` once; `.preparing` when it has to be waited for. The session's machine
  /// is told when it is there.
  func takeFile(of event: StoredEvent, session: LiveSession) throws -> PreparedFile {
    dispatchPrecondition(condition: .onQueue(queue))
    switch preparedFiles[event.transfer] {
    case .preparing: return .preparing
    case .ready(let path):
      preparedFiles[event.transfer] = nil
      return .ready(path)
    case .changed:
      preparedFiles[event.transfer] = nil
      return .changed
    case .failed(let error):
      preparedFiles[event.transfer] = nil
      throw error
    case nil:
      prepareFile(of: event, session: session)
      return .preparing
    }
  }

  /// Prepares the files of events that come next.
  func prepareFiles(of events: some Sequence<StoredEvent>, session: LiveSession) {
    for event in events.filter({ $0.kind == .finishedDownloading }).prefix(TransferEngine.filesAhead)
    where preparedFiles[event.transfer] == nil {
      prepareFile(of: event, session: session)
    }
  }

  private func prepareFile(of event: StoredEvent, session: LiveSession) {
    let (id, count) = (event.transfer, event.completion.countOfBytesReceived)
    preparedFiles[id] = .preparing
    let (files, runner, log) = (self.files, self.runner, self.log)
    let later = laterCopies(for: session)
    deliveryThreads.run(at: .init(app: session.executable.path)) {
      let result = Result {
        if let folder = try files.setAsideCompleteUnlessFile(id) {
          log.error("what had the name of the file of transfer \(id) was no file, and is in \(folder)")
          throw TransferFiles.ChangedFile()
        }
        return try files.makeDelivery(id, count: count, unclaimed: runner.unclaimed, later: later) {
          log.notice("there is no room for a copy of the file of transfer \(id), so its app gets the file itself")
        }
      }
      self.enter { $0.filePrepared(result, of: id, session: session.id) }
    }
  }

  /// Copies of files that are leased are made on other threads: no delivery waits for them.
  private func laterCopies(for session: LiveSession) -> TransferFiles.LaterCopies {
    let (threads, runner, log, app) = (laterCopyThreads, self.runner, self.log, session.executable.path)
    return TransferFiles.LaterCopies(
      run: { threads.run(at: .init(app: app), comesFirst: $0, $1) }, delay: settings.laterCopyDelay,
      leastSize: settings.leastLeasedSize, unclaimed: { runner.unclaimed(of: $0) }, report: { log.warning("\($0)") })
  }

  private func filePrepared(_ result: Result<String?, any Error>, of id: TransferID, session: SessionID) {
    if preparedFiles[id] == nil {
      // The app has acknowledged the event of an earlier delivery meanwhile, or the transfer has gone with its session. Its
      // files have gone, but for this one.
      removeFiles(.delivered(id))
    } else {
      switch result {
      case .success(let path): preparedFiles[id] = .ready(path)
      case .failure(is TransferFiles.ChangedFile): preparedFiles[id] = .changed
      case .failure(let error):
        preparedFiles[id] = .failed(error)
        storageIsSuspect(after: error)
      }
    }
    // The events behind this one wait for it in any case.
    post(.holderTakesMore, to: session)
  }

  /// Whether files are being prepared.
  var isPreparingFiles: Bool {
    preparedFiles.values.contains { if case .preparing = $0 { true } else { false } }
  }
}
