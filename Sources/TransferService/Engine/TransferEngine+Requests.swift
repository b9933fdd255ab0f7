import Foundation
import SystemServices
import TransferProtocol

/// Carries out the requests of apps, and answers them.
extension TransferEngine {
  func handle(_ message: ClientMessage, from client: any ServiceClient) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard clients[client.id] != nil, !keepWaiting(.message(message), of: client) else { return }
    do {
      // nil: the answer comes later.
      if let reply = try reply(to: message, from: client) { client.send(.reply(to: message.id, reply)) }
    } catch { refuse(message, from: client, because: error) }
  }

  func refuse(_ message: ClientMessage, from client: any ServiceClient, because error: any Error) {
    client.send(.reply(to: message.id, .refused(refusal(of: message, because: error))))
  }

  private func refusal(of message: ClientMessage, because error: any Error) -> Refusal {
    switch error {
    case let refusal as Refusal: return refusal
    case let error as TransferStoreError: return Refusal(.invalidRequest, "\(error)")
    default:
      log.error("\(message.request.name) failed: \(error)")
      guard store.damage == nil else {
        return Refusal(
          .shuttingDown, "The queue is damaged; connect again, to a service that has what could be saved.")
      }
      return Refusal(.storage, "The queue can't be read or written: \(error)")
    }
  }

  func checkServing() throws {
    guard isServing else { throw Refusal(.shuttingDown, "The service is about to end; connect again.") }
  }

  private func reply(to message: ClientMessage, from client: any ServiceClient) throws -> ServiceReply? {
    try checkServing()
    switch message.request {
    case .version: return .version(version)
    case .hello(let hello): return .hello(try greet(client, hello))
    case .unknown(let name): throw Refusal(.unsupported, "This service doesn't know the request \(name).")
    default: break
    }
    guard clients[client.id]?.version != nil else { throw Refusal(.invalidRequest, "A connection begins with hello.") }
    let app = try appID(of: client)
    func session(_ identifier: String) throws -> SessionID { try held(identifier, by: client, app) }
    switch message.request {
    case .hello, .version, .unknown: return nil
    case .attach(let attach): return .attached(try self.attach(attach, app: app, client: client))
    case .sessionTasks(let page): return .tasks(try taskPage(session: session(page.session), after: page.after))
    case .startDelivery(let reference):
      let id = try session(reference.session)
      post(.deliveryStarted, to: id)
      appIsReady(id, over: client.id)
    case .createTasks(let creation): return .created(try create(creation, session: session(creation.session)))
    case .resumeTasks(let selection):
      let id = try session(selection.session)
      return try inPieces(selection.taskIdentifiers, of: message, from: client) {
        try $0.setState(.active, of: $1, session: id)
      }
    case .suspendTasks(let selection):
      let id = try session(selection.session)
      return try inPieces(selection.taskIdentifiers, of: message, from: client) {
        try $0.setState(.suspended, of: $1, session: id)
      }
    case .cancelTask(let cancel):
      guard let id = sessions[try session(cancel.session)]?.unfinished[cancel.taskIdentifier] else {
        return .cancelled(CancelledTask())
      }
      let takesPoint = cancel.producingResumePoint
      try self.cancel(
        id,
        reply: .init(client: client, app: app, request: message.id, takesResumePoint: takesPoint) {
          .cancelled(CancelledTask(resumePoint: $0))
        })
      return nil
    case .updateTask(let update): try self.update(update, session: session(update.session))
    case .acknowledge(let acknowledgement):
      let id = try session(acknowledgement.session)
      return try inPieces(acknowledgement.sequences, of: message, from: client) { try $0.acknowledge($1, session: id) }
    case .keepEvents(let kept): post(.kept(kept.sequences), to: try session(kept.session))
    case .answerChallenge(let answer): self.answer(answer, session: try session(answer.session))
    case .doneHandlingEvents(let reference):
      post(.saidDone, to: try heldOrFree(reference.session, by: client, app))
    case .invalidate(let reference): try invalidate(session(reference.session))
    case .listTransfers(let list):
      return .transfers(try transferPage(app: app, after: list.after, includingFinished: list.includesFinished))
    case .showTransfer(let reference): return .transfer(snapshot(try owned(reference.transfer, by: app)))
    case .cancelTransfer(let reference):
      _ = try owned(reference.transfer, by: app)
      try cancel(
        reference.transfer,
        reply: .init(client: client, app: app, request: message.id, takesResumePoint: false) { _ in .done })
      return nil
    case .watch(let watch):
      let ids = try watch.transfers.map { try store.transfers(Set($0), of: app) }
      clients[client.id]?.watching = ids.map { .transfers(Set($0)) } ?? .everything
      return .transfers(try watched(ids, app: app))
    }
    return .done
  }

  var version: ServiceVersion {
    ServiceVersion(program: settings.programVersion, processIdentifier: getpid())
  }

  private func appID(of client: any ServiceClient) throws -> AppID {
    if let known = clients[client.id]?.app { return known }
    let id = try store.app(for: client.peer.executable)
    clients[client.id]?.app = id
    return id
  }
}
