import Foundation
import HTTPSemantics
import SystemServices

/// Loads a finished download again whose file an app has written into before it acknowledged it. That can happen where the
/// service was killed meanwhile, and its lease with it; where the app was kept waiting longer than the kernel does; and where there was no room for
/// a copy. So is one whose file is no file any more, or is gone although its folder is there.
extension TransferEngine {
  /// The events of the session wait until the queue has changed, and are read again then.
  ///
  /// - Parameter cause: a clause about the file.
  /// - Returns: false where the request can't be repeated.
  func loadAgain(_ event: StoredEvent, because cause: String, session: LiveSession) throws -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    let (id, transfer) = (session.id, event.transfer)
    guard let stored = try store.transfer(transfer), !stored.isDamaged, stored.upload == nil,
      HTTPMethod.isSafe(stored.description.request.method.uppercased()),
      // The password of such a URL went with the end of the transfer.
      URLComponents(string: stored.description.request.url)?.user == nil
    else { return false }
    log.warning("transfer \(transfer) is loaded again: its file \(cause), and its app has not acknowledged it")
    preparedFiles[transfer] = .preparing
    whenWritten {
      store.loadAgain(transfer, started: DurableInstant(clock.now, clock: clock), ended: $0)
    } then: { engine, result in
      engine.beginsAnew(result, transfer, session: id)
    }
    return true
  }

  private func beginsAnew(_ result: Result<Int, any Error>, _ id: TransferID, session: SessionID) {
    // nil: its events were acknowledged meanwhile, or went with the session.
    let isAwaited = preparedFiles[id] != nil
    preparedFiles[id] = nil
    sessions.update(session) { $0.readEvents = ReadEvents() }
    do {
      let removed = try result.get()
      if isAwaited, removed > 0, let stored = try store.transfer(id), stored.head.state == .active {
        queueAgain(stored.head)
        post(.eventsRemoved(removed), to: session)
      }
    } catch {
      // The events of the session are tried again then.
      if isAwaited { preparedFiles[id] = .failed(error) }
    }
    post(.holderTakesMore, to: session)
  }

  private func queueAgain(_ head: StoredTransferHead) {
    do {
      // Its new file takes the name, so a removal must not come later.
      if let path = try files.withdrawComplete(head.id) { removeFiles(.file(path)) }
    } catch {
      log.warning("the file of transfer \(head.id), which is loaded again, was not removed: \(error)")
    }
    transfers.insert(LiveTransfer(head))
    do {
      if let limits = try store.limitsBesidesSessions()[.transfer(head.id)] {
        bandwidth.set(limits, of: .transfer(head.id))
      }
    } catch {
      log.warning("the limits of transfer \(head.id), which is loaded again, can't be read: \(error)")
    }
    sessions.update(head.session) { $0.unfinished[head.taskIdentifier] = head.id }
    post(.transferAdded, to: head.session)
    // Before its events go: the session must not look as if nothing was to be waited for.
    apply(.queued(delay: nil), to: head.id)
    tellWatchers(of: head.id)
  }
}
