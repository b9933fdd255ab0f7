import CommandLineOutput
import Foundation
import Synchronization
import TransferProtocol
import URLLoadingSystem

/// Follows transfers until they are over and their files are in place, through restarts of the service.
///
/// The service starts this program to put a finished file in its place; when it does not come to that soon, the follower
/// does it itself.
final class TransferFollower: Sendable {
  private enum Change: Sendable {
    case status(TransferStatus)
    /// The transfer has been complete for a while, and no process has put its file in place.
    case isStillNotPlaced(Int64)
    case connectionEnded
  }

  private let progress: ProgressPrinter
  private let store: RecordStore
  private let whenOver: @Sendable (TransferReport) -> Void
  private let adopted = Mutex<[Int64: URLSession]>([:])
  private let watched = Mutex<Set<Int64>>([])

  /// How long the follower leaves a complete transfer to other processes.
  private static let grace = Duration.seconds(3)
  private static let patienceForService = 20
  /// From a look at a service whose storage can't be used to the next: they double.
  private static let firstStoragePause = Duration.milliseconds(250)
  private static let longestStoragePause = Duration.seconds(4)

  init(progress: ProgressPrinter, store: RecordStore, whenOver: @escaping @Sendable (TransferReport) -> Void) {
    self.progress = progress
    self.store = store
    self.whenOver = whenOver
  }

  /// - Throws: `CommandFailure` when a number is unknown or the service does not come back.
  func follow(_ transfers: [Int64]) async throws -> FollowedTransfers {
    var followed = FollowedTransfers(transfers)
    var failures = 0
    var toldReason: String?
    var storagePause = TransferFollower.firstStoragePause
    while !followed.isOver {
      do {
        try await followConnection(&followed)
        failures = 0
        storagePause = TransferFollower.firstStoragePause
      } catch let failure as CommandFailure {
        throw failure
      } catch {
        if let line = TransferFollower.line(waitingForStorage: error, isQueueMissing: { ServiceFacts.isQueueMissing() })
        {
          // It may be away for hours, and the service goes on by itself.
          if line != toldReason { StandardError.print(line) }
          toldReason = line
          try await Task.sleep(for: storagePause)
          storagePause = min(storagePause * 2, TransferFollower.longestStoragePause)
          continue
        }
        if let refusal = error as? Refusal {
          guard refusal.reason == .shuttingDown || refusal.hasTooManyConnections == true else {
            throw CommandFailure.service(error)
          }
        }
        if let gone = error as? ServiceUnavailable, !ServiceUnavailable.isPassing(gone), gone.reason != toldReason {
          toldReason = gone.reason
          StandardError.print(TransferFollower.line(waitingFor: gone))
        }
        failures += 1
        guard failures < TransferFollower.patienceForService else { throw CommandFailure.service(error) }
        // The service is another process, and there is no other way to hear that it is back.
        try await Task.sleep(for: .milliseconds(250))
      }
    }
    return followed
  }

  static func line(waitingFor gone: ServiceUnavailable) -> String {
    TextTable.printable("urlsession: \(gone) Waiting for it.")
  }

  /// nil where the service can't be used for another reason than its storage.
  static func line(waitingForStorage error: any Error, isQueueMissing: () -> Bool) -> String? {
    switch error {
    case let gone as ServiceUnavailable:
      return !ServiceUnavailable.isPassing(gone) && isQueueMissing() ? line(waitingFor: gone) : nil
    case let refusal as Refusal:
      guard refusal.reason == .storage, refusal.hasTooManyConnections != true else { return nil }
      return TextTable.printable("urlsession: \(refusal.message) Waiting for it.")
    default: return nil
    }
  }

  /// Until all is over or the connection ends.
  private func followConnection(_ followed: inout FollowedTransfers) async throws {
    let (changes, feed) = AsyncStream.makeStream(of: Change.self)
    let connection = try await ServiceConnection.open(
      onPush: { push in if case .transferChanged(let status) = push { feed.yield(.status(status)) } },
      onClose: { feed.yield(.connectionEnded) })
    defer { connection.close() }
    // Also what is over: a page may not have room for all, and then each is asked for by itself.
    let open = followed.open
    let watched = open.count <= MessageFraming.maximumListCount ? open : nil
    if case .transfers(let page) = try await connection.request(.watch(Watch(transfers: watched))) {
      for status in page.transfers { apply(status, to: &followed, feed) }
    }
    for transfer in followed.unknown {
      if let snapshot = try await connection.transfer(transfer) {
        apply(snapshot.status, to: &followed, feed)
      } else if let record = store.latest(transfer),
        let report = try await connection.report(of: record), report.outcome != nil
      {
        store.note(report, of: record)
        if followed.update(report) { whenOver(report) }
      }
    }
    guard followed.unknown.isEmpty else { throw CommandFailure.unknown(transfers: followed.unknown) }
    guard !followed.isOver else { return }
    show(followed)
    for await change in changes {
      switch change {
      case .status(let status): apply(status, to: &followed, feed)
      case .isStillNotPlaced(let transfer):
        if let report = followed.all.first(where: { $0.transfer == transfer && $0.outcome == nil }) { adopt(report) }
      case .connectionEnded: return
      }
      // How each ended is said already.
      if followed.isOver { return }
      show(followed)
    }
  }

  private func apply(
    _ status: TransferStatus, to followed: inout FollowedTransfers, _ feed: AsyncStream<Change>.Continuation
  ) {
    // The record is complete before the service hears that the events were handled.
    var report = TransferReport(status, in: store)
    // The file of another app's transfer is for that app to place.
    if !status.isAcknowledged, !report.isOfOtherApp { report.outcome = nil }
    if followed.update(report) {
      _ = adopted.withLock { $0.removeValue(forKey: report.transfer) }?.finishTasksAndInvalidate()
      return whenOver(report)
    }
    guard status.state == .completed, !report.isOfOtherApp, watched.withLock({ $0.insert(status.transfer).inserted })
    else { return }
    Task {
      try await Task.sleep(for: TransferFollower.grace)
      feed.yield(.isStillNotPlaced(status.transfer))
    }
  }

  /// Takes the session's events here, unless another process has them.
  private func adopt(_ report: TransferReport) {
    // Other programs of ours could list their transfers here; their sessions are not for us.
    guard report.session.hasPrefix(BackgroundDownload.sessionPrefix) else { return }
    if let state = try? DownloadNote.usualState() { KeptBytes(state: state).use() }
    adopted.withLock { adopted in
      guard adopted[report.transfer] == nil else { return }
      adopted[report.transfer] = URLSession(
        configuration: BackgroundDownload.configuration(report.session), delegate: DownloadReceiver(),
        delegateQueue: nil)
    }
  }

  private func show(_ followed: FollowedTransfers) {
    progress.relabel(followed.label)
    if let note = followed.note() {
      progress.show(note)
    } else {
      progress.update(done: followed.received, total: followed.total)
    }
  }
}
