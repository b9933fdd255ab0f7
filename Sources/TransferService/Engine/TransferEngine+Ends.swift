import Foundation
import TransferProtocol

/// Writes the ends of transfers, many in one commit. The engine does not wait for the disk meanwhile.
extension TransferEngine {
  /// Called at the end of each turn.
  ///
  /// - Parameter requestsWait: whether further requests have arrived, whose cancellations belong to the same commit.
  func writeEnds(requestsWait: Bool) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard gatheredEnds.isDue(requestsWait: requestsWait, at: clock.now) else { return }
    write(ends(of: gatheredEnds.take()))
  }

  /// Those that are still to be written: a transfer may have gone with its session.
  private func ends(of ids: [TransferID]) -> [TransferStore.End] {
    let states = ids.compactMap { id -> (TransferID, TransferMachine.End)? in
      guard case .finishing(let end) = transfers[id]?.machine.state else { return nil }
      return (id, end)
    }
    let plain = states.filter { $1.isCancellation && !wantsResumePoint($0) }.map(\.0)
    var outlines: [TransferID: TransferStore.Outline] = [:]
    do { outlines = plain.isEmpty ? [:] : try store.outlines(of: plain) } catch {
      log.error("\(plain.count) cancelled transfers end without their URLs: \(error)")
    }
    return states.map { id, end in
      var hasFile = false
      if case .file = end { hasFile = true }
      var completion: Completion =
        switch end {
        case .cancelled where wantsResumePoint(id): self.completion(.cancelled(wantsResumePoint: true), of: id)
        case .cancelled: cancelled(id, outlines[id])
        case .file, .failure: self.completion(end, of: id)
        }
      addSentBytes(to: &completion, of: id)
      completion.transactions = transactions.latest(id)
      return TransferStore.End(transfer: id, hasFile: hasFile, completion: completion)
    }
  }

  private func write(_ ends: [TransferStore.End]) {
    guard !ends.isEmpty else { return gatheredEnds.written() }
    whenWritten { ended in
      self.store.finish(ends, date: self.clock.date) { ended(.success($0)) }
    } then: { engine, results in
      engine.gatheredEnds.written()
      if case .success(let results) = results { engine.ended(zip(ends, results)) }
    }
  }

  private func ended(_ results: some Sequence<(TransferStore.End, Result<Int, any Error>)>) {
    var written: [(TransferStore.End, Int)] = []
    var failed: [(TransferStore.End, any Error)] = []
    for (end, result) in results {
      switch result {
      case .success(let count): written.append((end, count))
      case .failure(let error): failed.append((end, error))
      }
    }
    if !written.isEmpty { self.written(written.map(\.0), written.map(\.1)) }
    if let (end, error) = failed.first {
      log.error(
        """
        the ends of \(failed.count) transfers could not be written and will be again; that of transfer \
        \(end.transfer): \(error)
        """)
    }
    notWritten(failed.map(\.0))
  }

  private func written(_ ends: [TransferStore.End], _ counts: [Int]) {
    Failpoint.afterEventBeforeAcknowledgement.pass(state: files.directory)
    for end in ends {
      let sentence = end.completion.failure?.message ?? "\(end.completion.countOfBytesReceived) bytes"
      log.info("transfer \(end.transfer) is over: \(sentence)")
    }
    var appended: [SessionID: Int] = [:]
    for (end, count) in zip(ends, counts) {
      let count = count - (withdrawFile(end) ? 1 : 0)
      // Those of a session that has gone meanwhile have gone with it.
      if let session = transfers[end.transfer]?.session { appended[session, default: 0] += count }
    }
    // In this order: callers that cancelled hear of it before the events are sent.
    for end in ends { post(.endWritten, to: end.transfer) }
    for (session, count) in appended.sorted(by: { $0.key < $1.key }) { post(.eventsAppended(count), to: session) }
  }

  /// A cancellation that came while the end was being written wins over the file, of which the app has not been told.
  ///
  /// - Returns: whether an event of the transfer is gone.
  private func withdrawFile(_ end: TransferStore.End) -> Bool {
    let id = end.transfer
    guard end.hasFile, let transfer = transfers[id], transfer.machine.isCancelledLate else { return false }
    do {
      let failure = TransferFailure.cancelled(end.completion.response?.url)
      try store.fileIsLost(of: id, session: transfer.session, failure: failure)
    } catch {
      log.error("transfer \(id) was cancelled too late: \(error)")
      return false
    }
    removeFiles(.undelivered(id))
    return true
  }

  private func notWritten(_ ends: [TransferStore.End]) {
    // A transfer is not over until its end is on the disk. Its file waits under its complete name.
    for end in ends {
      unmarkRun(end.transfer)
      post(.endNotWritten, to: end.transfer)
    }
  }

  private func wantsResumePoint(_ id: TransferID) -> Bool {
    guard let transfer = transfers[id] else { return false }
    if case .finishing(.cancelled(wantsResumePoint: true)) = transfer.machine.state { return true }
    // One that came while the end was gathered.
    return transfer.cancellationReplies.contains { $0.takesResumePoint }
  }

  private func cancelled(_ id: TransferID, _ outline: TransferStore.Outline?) -> Completion {
    Completion(
      failure: cancellation(of: id, outline?.url), response: outline?.response,
      countOfBytesReceived: transfers[id]?.received ?? 0,
      countOfBytesExpectedToReceive: transfers[id]?.expectedTotal ?? -1)
  }
}

extension TransferMachine.End {
  fileprivate var isCancellation: Bool { if case .cancelled = self { true } else { false } }
}
