import Foundation
import SystemServices
import TransferProtocol

extension TransferEngine {
  /// Carries one request out and answers it.
  func handle(_ message: ClientMessage, from client: any ServiceClient) {
    guard clients[client.id] != nil else { return }
    do {
      // nil: the answer comes later.
      if let reply = try reply(to: message, from: client) { client.send(.reply(to: message.id, reply)) }
    } catch let refusal as Refusal {
      client.send(.reply(to: message.id, .refused(refusal)))
    } catch let error as TransferStoreError {
      client.send(.reply(to: message.id, .refused(Refusal(.invalidRequest, "\(error)"))))
    } catch {
      log.error("\(message.request.name) failed: \(error)")
      client.send(.reply(to: message.id, .refused(Refusal(.storage, "The queue can't be read or written: \(error)"))))
    }
  }

  private func reply(to message: ClientMessage, from client: any ServiceClient) throws -> ServiceReply? {
    guard !isShuttingDown else { throw Refusal(.shuttingDown, "The service is about to end; connect again.") }
    switch message.request {
    case .version: return .version(version)
    case .hello(let hello): return .hello(try greet(client, hello))
    case .unknown(let name): throw Refusal(.unsupported, "This service doesn't know the request \(name).")
    default: break
    }
    guard clients[client.id]?.version != nil else { throw Refusal(.invalidRequest, "A connection begins with hello.") }
    let app = try appID(of: client)
    switch message.request {
    case .hello, .version, .unknown: return nil
    case .attach(let attach): return .attached(try self.attach(attach, app: app, client: client))
    case .sessionTasks(let page):
      return .tasks(try taskPage(session: held(page.session, by: client, app), after: page.after))
    case .startDelivery(let reference):
      let id = try held(reference.session, by: client, app)
      sessions[id]?.isDelivering = true
      // After the reply, as the app expects it.
      queue.async { self.pump(id) }
      return .done
    case .createTasks(let creation):
      return .created(try create(creation, session: held(creation.session, by: client, app)))
    case .resumeTasks(let selection):
      try setState(.active, of: selection, session: held(selection.session, by: client, app))
      return .done
    case .suspendTasks(let selection):
      try setState(.suspended, of: selection, session: held(selection.session, by: client, app))
      return .done
    case .cancelTask(let cancel):
      let session = try held(cancel.session, by: client, app)
      guard let id = sessions[session]?.unfinished[cancel.taskIdentifier] else { return .cancelled(CancelledTask()) }
      self.cancel(id, producingResumePoint: cancel.producingResumePoint) { resumePoint in
        client.send(.reply(to: message.id, .cancelled(CancelledTask(resumePoint: resumePoint))))
      }
      return nil
    case .updateTask(let update):
      try self.update(update, session: held(update.session, by: client, app))
      return .done
    case .acknowledge(let acknowledgement):
      let id = try held(acknowledgement.session, by: client, app)
      try acknowledge(acknowledgement.sequences, session: id)
      return .done
    case .doneHandlingEvents(let reference):
      try doneHandlingEvents(held(reference.session, by: client, app))
      return .done
    case .detach(let reference):
      let id = try held(reference.session, by: client, app)
      release(id)
      return .done
    case .invalidate(let reference):
      try invalidate(held(reference.session, by: client, app))
      return .done
    case .listTransfers(let list):
      return .transfers(try transferPage(app: app, after: list.after, includingFinished: list.includesFinished))
    case .showTransfer(let reference):
      let stored = try owned(reference.transfer, by: app)
      return .transfer(snapshot(stored))
    case .cancelTransfer(let reference):
      _ = try owned(reference.transfer, by: app)
      cancel(reference.transfer, producingResumePoint: false) { _ in client.send(.reply(to: message.id, .done)) }
      return nil
    case .watch(let watch):
      clients[client.id]?.watching = watch.transfers.map { .transfers(Set($0)) } ?? .everything
      return .transfers(try watched(watch.transfers, app: app))
    }
  }

  // MARK: Who is there

  private var version: ServiceVersion {
    ServiceVersion(program: settings.programVersion, processIdentifier: getpid())
  }

  private func greet(_ client: any ServiceClient, _ hello: Hello) throws -> HelloReply {
    switch ProtocolVersions.spoken.agreement(withApp: hello.versions) {
    case .speak(let agreed):
      clients[client.id]?.version = agreed
      log.debug("\(client.peer.executable.path) (\(client.peer.process.pid)) is here with \(hello.client)")
      return HelloReply(version: agreed, service: version)
    case .mustUpdate(let side):
      let sentence =
        side == .app
        ? "The app is too old for the transfer service; rebuild it with a newer library."
        : "The transfer service is too old for the app; update it and end the one that runs."
      throw Refusal(.incompatibleVersion, sentence, mustUpdate: side)
    }
  }

  private func appID(of client: any ServiceClient) throws -> AppID {
    if let known = clients[client.id]?.app { return known }
    let id = try store.app(for: client.peer.executable)
    clients[client.id]?.app = id
    return id
  }

  /// The session, when this connection holds it.
  private func held(_ identifier: String, by client: any ServiceClient, _ app: AppID) throws -> SessionID {
    guard let id = sessionsByName[SessionName(app: app, identifier: identifier)], sessions[id]?.holder == client.id
    else { throw Refusal(.notAttached, "This connection has not attached to session \(identifier).") }
    return id
  }

  /// The transfer, when it belongs to this app. Whether one of another app exists is not told.
  private func owned(_ id: TransferID, by app: AppID) throws -> StoredTransfer {
    guard let stored = try store.transfer(id), stored.app == app else {
      throw Refusal(.unknownTask, "There is no transfer \(id).")
    }
    return stored
  }

  // MARK: Pages

  /// Well below the longest message, whatever the requests weigh.
  private static let pageWeight = 2 << 20
  private static let pageLength = 500

  func taskPage(session: SessionID, after: Int) throws -> TaskPage {
    let stored = try store.sessionTransfers(session, after: after, limit: TransferEngine.pageLength + 1)
    let fitting = try TransferEngine.fitting(stored)
    return TaskPage(
      tasks: fitting.map(snapshot), next: fitting.count < stored.count ? fitting.last?.head.taskIdentifier : nil)
  }

  private func transferPage(app: AppID, after: TransferID, includingFinished: Bool) throws -> TransferPage {
    let stored = try store.appTransfers(
      app, after: after, includingFinished: includingFinished, limit: TransferEngine.pageLength + 1)
    let fitting = try TransferEngine.fitting(stored)
    return TransferPage(
      transfers: fitting.map(status), next: fitting.count < stored.count ? fitting.last?.head.id : nil)
  }

  private func watched(_ ids: [TransferID]?, app: AppID) throws -> TransferPage {
    guard let ids else { return try transferPage(app: app, after: 0, includingFinished: false) }
    let stored = try ids.prefix(TransferEngine.pageLength).compactMap { try store.transfer($0) }
    return TransferPage(transfers: stored.filter { $0.app == app }.map(status))
  }

  /// The first ones that fit into one message; at least one.
  private static func fitting(_ stored: [StoredTransfer]) throws -> [StoredTransfer] {
    var weight = 0
    var fitting: [StoredTransfer] = []
    for transfer in stored.prefix(pageLength) {
      weight += try MessageFraming.encode(transfer.description).count + MessageFraming.encode(transfer.response).count
      if weight > pageWeight, !fitting.isEmpty { break }
      fitting.append(transfer)
    }
    return fitting
  }

  private func snapshot(_ stored: StoredTransfer) -> TransferSnapshot {
    TransferSnapshot(description: stored.description, status: status(stored), response: stored.response)
  }
}
