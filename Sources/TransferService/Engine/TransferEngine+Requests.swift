import DequeModule
import Dispatch
import Foundation
import SystemServices
import TransferProtocol

/// Carries out the requests of apps, and answers them.
extension TransferEngine {
  func handle(_ message: ClientMessage, from client: any ServiceClient) {
    dispatchPrecondition(condition: .onQueue(queue))
    hasRested = false
    timers.cancel(.rest)
    guard clients[client.id] != nil else { return }
    // Asked for a sign of life: a disk that keeps other requests waiting does not keep this one.
    if case .version = message.request, isServing { return client.send(.reply(to: message.id, .version(version))) }
    guard !keepWaiting(.message(message), of: client), !awaitsKey(message, from: client),
      !awaitsApp(message, from: client)
    else { return }
    do {
      // nil: the answer comes later.
      if let reply = try reply(to: message, from: client) { client.send(.reply(to: message.id, reply)) }
    } catch { refuse(message, from: client, because: error) }
  }

  func refuse(_ message: ClientMessage, from client: any ServiceClient, because error: any Error) {
    dispatchPrecondition(condition: .onQueue(queue))
    client.send(.reply(to: message.id, .refused(refusal(of: message, because: error))))
  }

  private func refusal(of message: ClientMessage, because error: any Error) -> Refusal {
    switch error {
    case let refusal as Refusal: return refusal
    case let error as TransferStoreError:
      switch error {
      case .tooManyTransfers, .tooManyBytes: return Refusal(.tooLarge, "\(error)")
      case .newerVersion, .taskIdentifierTaken, .noSuchSession, .tooManySessions:
        return Refusal(.invalidRequest, "\(error)")
      case .transferIsOver(let id):
        // It has ended while the change waited to be written.
        if case .updateTask(let update) = message.request { return .unknown(task: update.taskIdentifier) }
        if case .limit = message.request { return .withoutLimit(id) }
        return .over(id)
      }
    default:
      log.error("\(message.request.name) failed: \(error)")
      storageIsSuspect(after: error)
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
    case .attach(let attach):
      try self.attach(attach, app: app, message, from: client)
      return nil
    case .sessionTasks(let page): return .tasks(try taskPage(session: session(page.session), after: page.after))
    case .startDelivery(let reference):
      let id = try session(reference.session)
      post(.deliveryStarted, to: id)
      tellAllReasons(of: id)
      appIsReady(id, over: client.id)
    case .createTasks(let creation):
      try create(creation, session: session(creation.session), for: message, from: client)
      return nil
    case .resumeTasks(let selection):
      setState(.active, of: selection.taskIdentifiers, session: try session(selection.session), message, from: client)
      return nil
    case .suspendTasks(let selection):
      setState(
        .suspended, of: selection.taskIdentifiers, session: try session(selection.session), message, from: client)
      return nil
    case .cancelTask(let cancel):
      guard let id = sessions[try session(cancel.session)]?.unfinished[cancel.taskIdentifier] else {
        return .cancelled(CancelledTask())
      }
      let takesPoint = cancel.producingResumePoint
      try self.cancel(
        id,
        reply: .init(client: client, app: app, request: message.id, takesResumePoint: takesPoint) {
          .cancelled($0)
        })
      return nil
    case .cancelTasks(let selection):
      return try cancel(selection, of: message.id, session: session(selection.session), from: client, app)
    case .updateTask(let update):
      try self.update(update, session: session(update.session), message, from: client)
      return nil
    case .acknowledge(let acknowledgement):
      let id = try session(acknowledgement.session)
      acknowledge(acknowledgement.sequences, session: id, message, from: client)
      return nil
    case .keepEvents(let kept): post(.kept(kept.sequences), to: try session(kept.session))
    case .answerChallenge(let answer):
      return self.answer(answer, session: try session(answer.session), message, from: client)
    case .answerDelayedRequest(let answer):
      return try self.answer(answer, session: session(answer.session), message, from: client)
    case .doneHandlingEvents(let reference):
      return saidDone(try heldOrFree(reference.session, by: client, app), message, from: client)
    case .invalidate(let reference):
      invalidate(try session(reference.session), of: app, message, from: client)
      return nil
    case .listTransfers(let list):
      return .transfers(try page(of: list, reach: reach(of: client, ofEveryApp: list.ofEveryApp)))
    case .showTransfer(let reference):
      return .transfer(detailedSnapshot(try reached(reference.transfer, by: reach(of: client))))
    case .cancelTransfer(let reference):
      guard let stored = try changeable(reference.transfer, for: message, from: client) else { return nil }
      guard let transfer = transfers[reference.transfer] else { throw Refusal.over(reference.transfer) }
      // One that its app has cancelled already is the app's to have ended.
      let isByUser = stored.app != app && transfer.cancellationReplies.isEmpty
      try cancel(
        reference.transfer,
        reply: .init(client: client, app: app, request: message.id, takesResumePoint: false, waitsForDisk: false) { _ in
          .done
        })
      if isByUser { transfers.update(reference.transfer) { $0.isCancelledByUser = true } }
      return nil
    case .holdTransfer(let reference):
      guard let stored = try changeable(reference.transfer, for: message, from: client) else { return nil }
      return try hold(stored.head.id, message, from: client)
    case .releaseTransfer(let reference):
      guard let stored = try changeable(reference.transfer, for: message, from: client) else { return nil }
      return try release(stored.head.id, message, from: client)
    case .retryTransfer(let reference):
      guard let stored = try changeable(reference.transfer, for: message, from: client) else { return nil }
      return try tryNow(stored.head.id, message, from: client)
    case .editTransfer(let request):
      guard try changeable(request.transfer, for: message, from: client) != nil else { return nil }
      try edit(request, message, from: client)
      return nil
    case .watch(let watch):
      guard let named = watch.transfers else {
        let reach = try reach(of: client, ofEveryApp: watch.ofEveryApp)
        clients[client.id]?.watching = .everything(reach)
        return .transfers(try page(of: ListTransfers(includesFinished: false), reach: reach))
      }
      let ids = try store.transfers(Set(named), of: reach(of: client).app)
      clients[client.id]?.watching = .transfers(Set(ids))
      return .transfers(try page(of: ids))
    case .limit(let limit):
      try self.limit(limit, of: app, message, from: client)
      return nil
    case .limitApp(let limit):
      try self.limit(limit, asking: app, message, from: client)
      return nil
    }
    return .done
  }

  /// The transfer, when it is in reach; nil when the request has to wait until it is created.
  func changeable(
    _ id: TransferID, for message: ClientMessage, from client: any ServiceClient
  ) throws -> StoredTransfer? {
    let stored = try reached(id, by: reach(of: client))
    guard !isBeingCreated(stored, for: message, from: client) else { return nil }
    guard transfers[id] != nil || stored.head.state == .completed else {
      throw Refusal(.storage, "Transfer \(id) waits in the queue: the record of its session can't be read.")
    }
    return stored
  }

  var version: ServiceVersion {
    ServiceVersion(program: settings.programVersion, processIdentifier: getpid())
  }

  func appID(of client: any ServiceClient) throws -> AppID {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let app = clients[client.id]?.app else { throw Refusal(.invalidRequest, "A connection begins with hello.") }
    return app
  }

  /// Finds out which app a connection is of. An app that is new to the queue is written to it first, and the request waits
  /// for that.
  private func awaitsApp(_ message: ClientMessage, from client: any ServiceClient) -> Bool {
    guard isServing, let connection = clients[client.id], connection.version != nil, connection.app == nil else {
      return false
    }
    switch message.request {
    case .version, .hello, .unknown: return false
    default: break
    }
    let executable = client.peer.executable
    do {
      if let known = try store.knownApp(for: executable) {
        clients[client.id]?.app = known
        return false
      }
    } catch {
      refuse(message, from: client, because: error)
      return true
    }
    clients[client.id]?.waiting = Deque()
    whenWritten {
      store.app(for: executable, ended: $0)
    } then: { engine, result in
      switch result {
      case .success(let app):
        engine.clients[client.id]?.app = app
        engine.clients[client.id]?.waiting?.prepend(.message(message))
      case .failure(let error): engine.refuse(message, from: client, because: error)
      }
      engine.handleWaiting(of: client)
    }
    return true
  }
}

extension Refusal {
  static func over(_ id: TransferID) -> Refusal {
    Refusal(.invalidRequest, "Transfer \(id) is over, and its app is told so.")
  }

  static func withoutLimit(_ id: TransferID) -> Refusal { Refusal(.unknownTask, "Transfer \(id) is over.") }

  static func unknown(task identifier: Int) -> Refusal {
    Refusal(.unknownTask, "There is no task \(identifier), or it is over.")
  }
}
