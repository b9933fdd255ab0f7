import Dispatch
import TransferProtocol

/// The transfers that one message cancels, as far as they are not over. Confined to the engine's queue.
final class CancellationGroup {
  private var count: Int

  init(count: Int) { self.count = count }

  /// One of them is over.
  ///
  /// - Returns: whether it was the last one.
  func ended() -> Bool {
    count -= 1
    return count == 0
  }
}

extension TransferEngine {
  /// Ends many transfers with `URLError.cancelled`. All of them or none: a refused message changes nothing.
  ///
  /// - Parameter request: the number of the message.
  /// - Returns: nil when the answer comes later.
  func cancel(
    _ selection: TaskSelection, of request: UInt64, session id: SessionID, from client: any ServiceClient, _ app: AppID
  ) throws -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    let unfinished = sessions[id]?.unfinished ?? [:]
    let transfers = Set(selection.taskIdentifiers.compactMap { unfinished[$0] }).sorted()
    guard !transfers.isEmpty else { return .done }
    guard waitingCancellations.begin(app, count: transfers.count) else { throw Refusal.tooManyCancellations }
    let group = CancellationGroup(count: transfers.count)
    for transfer in transfers {
      add(
        .init(client: client, app: app, request: request, takesResumePoint: false, group: group) { _ in .done },
        to: transfer)
    }
    return nil
  }

  /// - Parameter reply: is counted in `waitingCancellations` already.
  func add(_ reply: LiveTransfer.CancellationReply, to id: TransferID) {
    clients[reply.client.id]?.cancelling.insert(id)
    transfers.update(id) { $0.add(reply) }
    post(.cancelled(wantsResumePoint: reply.takesResumePoint), to: id)
  }
}

extension Refusal {
  static let tooManyCancellations = Refusal(.storage, "Too many cancellations of the app wait for the disk already.")
}
