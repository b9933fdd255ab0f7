import Foundation
import TransferProtocol

/// Writes the ends of cancelled transfers, many in one commit.
extension TransferEngine {
  /// Called at the end of each turn.
  ///
  /// - Parameter requestsWait: whether further requests have arrived, whose cancellations belong to the same commit.
  func writeCancelledEnds(requestsWait: Bool) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard cancelledEnds.isDue(requestsWait: requestsWait, at: clock.now) else { return postponeNewCancellations() }
    // A transfer may have gone with its session.
    let ids = cancelledEnds.take().filter { isCancelled($0) }
    guard !ids.isEmpty else { return }
    let plain = ids.filter { !wantsResumePoint($0) }
    var outlines: [TransferID: TransferStore.Outline] = [:]
    do { outlines = try store.outlines(of: plain) } catch {
      log.error("\(plain.count) cancelled transfers end without their URLs: \(error)")
    }
    let ends = ids.map { id in
      TransferStore.End(
        transfer: id, hasFile: false,
        completion: wantsResumePoint(id) ? resumableCompletion(of: id) : cancelled(id, outlines[id]))
    }
    do {
      let counts = try store.finish(ends, date: clock.date)
      Failpoint.afterEventBeforeAcknowledgement.pass(state: files.directory)
      for id in ids { log.info("transfer \(id) is over: it was cancelled") }
      // In this order: callers that cancelled hear of it before the events are sent.
      for id in ids { post(.endWritten, to: id) }
      var appended: [SessionID: Int] = [:]
      for (id, count) in zip(ids, counts) {
        if let session = transfers[id]?.session { appended[session, default: 0] += count }
      }
      for (session, count) in appended.sorted(by: { $0.key < $1.key }) { post(.eventsAppended(count), to: session) }
    } catch {
      log.error("the ends of \(ids.count) cancelled transfers could not be written and will be again: \(error)")
      for id in ids { post(.endNotWritten, to: id) }
    }
  }

  /// The answer waits for others, so the callers may send more requests before they have it.
  private func postponeNewCancellations() {
    for id in cancelledEnds.takeNew() where isCancelled(id) {
      transfers.update(id) { $0.postponeCancellations() }
    }
  }

  private func isCancelled(_ id: TransferID) -> Bool {
    if case .finishing(.cancelled) = transfers[id]?.machine.state { true } else { false }
  }

  private func wantsResumePoint(_ id: TransferID) -> Bool {
    guard let transfer = transfers[id] else { return false }
    if case .finishing(.cancelled(wantsResumePoint: true)) = transfer.machine.state { return true }
    // One that came while the end was gathered.
    return transfer.cancellationReplies.contains { $0.takesResumePoint }
  }

  private func resumableCompletion(of id: TransferID) -> Completion {
    completion(.cancelled(wantsResumePoint: true), of: id)
  }

  private func cancelled(_ id: TransferID, _ outline: TransferStore.Outline?) -> Completion {
    Completion(
      failure: .cancelled(outline?.url), response: outline?.response,
      countOfBytesReceived: transfers[id]?.received ?? 0,
      countOfBytesExpectedToReceive: transfers[id]?.expectedTotal ?? -1)
  }
}
