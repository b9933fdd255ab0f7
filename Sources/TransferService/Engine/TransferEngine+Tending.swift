import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

/// Requests of a person about a transfer: to hold it, to let it go on, to try it now, to change its request. The queue is
/// written first: when that fails, nothing has changed. The answer follows when it is on the disk.
extension TransferEngine {
  /// The transfer is held back by the user, whatever its app says, until the user lets it go on.
  ///
  /// - Returns: nil when the answer comes later.
  func hold(_ id: TransferID, _ message: ClientMessage, from client: any ServiceClient) throws -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard try unfinished(id).canHold else { return .done }
    setHeld(true, id, .held, message, from: client)
    return nil
  }

  /// - Returns: nil when the answer comes later.
  func release(_ id: TransferID, _ message: ClientMessage, from client: any ServiceClient) throws -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard try unfinished(id).isHeld else { return .done }
    setHeld(false, id, .holdEnded, message, from: client)
    return nil
  }

  private func setHeld(
    _ isHeld: Bool, _ id: TransferID, _ event: TransferMachine.Event, _ message: ClientMessage,
    from client: any ServiceClient
  ) {
    answer(message, from: client) {
      store.setHeld(isHeld, of: id, forgettingCrashesFrom: settings.crashesPerTransfer, ended: $0)
    } _: { engine, _ in
      if !isHeld { engine.forgetCrashesOfResumed(id) }
      engine.log.info("transfer \(id) is \(isHeld ? "paused" : "resumed") by the user")
      engine.post(event, to: id)
      return .done
    }
  }

  /// Ends the wait after a failure, for space, or for a busy server, and lets one go on that was set aside.
  ///
  /// - Returns: nil when the answer comes later.
  func tryNow(_ id: TransferID, _ message: ClientMessage, from client: any ServiceClient) throws -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    let machine = try unfinished(id)
    if machine.isSetAside, machine.hold?.goesOn == true { return try release(id, message, from: client) }
    guard !machine.isSetAside else {
      throw Refusal(.invalidRequest, "Transfer \(id) is suspended by its app, and set aside; the app can resume it.")
    }
    guard !machine.isHeld else {
      throw Refusal(.invalidRequest, "Transfer \(id) is paused by the user; resume it.")
    }
    if case .suspended = machine.state {
      throw Refusal(.invalidRequest, "Transfer \(id) is suspended by its app, which alone can resume it.")
    }
    post(.triedNow, to: id)
    return .done
  }

  func edit(_ request: EditTransfer, _ message: ClientMessage, from client: any ServiceClient) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    if let priority = request.priority, !(0...1).contains(priority) {
      throw Refusal(.invalidRequest, "A priority is from 0 to 1.")
    }
    let change = RequestChange(
      url: request.url, changesFields: request.changesFields, changesRequest: request.changesRequest,
      changedParts: request.changedParts
    ) { request.applied(to: $0) }
    try self.change(request.transfer, change, message, from: client)
  }

  /// A change of a transfer's request.
  struct RequestChange: Sendable {
    /// nil where it stays.
    let url: String?
    let changesFields: Bool
    /// Whether the next request differs, and not the transfer's rank alone.
    let changesRequest: Bool
    /// Their names, for the log.
    let changedParts: [String]
    /// Whether a URL without a password leaves the one that the same URL had. The app is asked about a URL without it.
    var keepsPassword = false
    /// The description with the change. Where the URL leaves the origin, what it is given has no fields with secrets.
    let applied: @Sendable (TransferDescription) -> TransferDescription
  }

  /// Answers once the change is in the queue.
  ///
  /// - Parameters:
  ///   - then: in the turn that follows, before the transfer goes on with the change.
  ///   - tooLong: in the turn that follows where the app has no room in the queue for the description.
  func change(
    _ id: TransferID, _ request: RequestChange, _ message: ClientMessage, from client: any ServiceClient,
    then: @escaping @Sendable (TransferEngine) -> Void = { _ in },
    tooLong: @escaping @Sendable (TransferEngine, TransferStoreError) -> Void = { _, _ in }
  ) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    _ = try unfinished(id)
    guard !isChanging(.description(id), for: message, from: client) else { return }
    guard let stored = try store.transfer(id), !stored.isDamaged else {
      throw Refusal(.unknownTask, "The record of transfer \(id) can't be read.")
    }
    // RFC 9110 §15.4: fields with secrets are for the origin that they were made for, as in a redirect.
    let leavesOrigin = request.url.map { !TransferEngine.isSameOrigin(stored.description.request.url, $0) } ?? false
    let changesFields = request.changesFields || leavesOrigin
    var known = changesFields ? try openedForChange(stored) : stored
    if leavesOrigin {
      known.description.request.headers.removeAll { RedirectRules.isOfOrigin($0.name) }
    }
    let task = TakenTask(request.applied(known.description))
    let leavesPassword =
      request.url == nil
      || request.keepsPassword && task.password == nil
        && task.description.request.url == stored.description.request.url
    if request.url != nil { try TransferEngine.checkURL(task.description.request.url) }
    try TaskAdmission.checkBody(of: task.description)
    let encoded = try MessageFraming.encode(task.description)
    try TaskAdmission.checkLength(of: task.description, encoded: encoded)
    var edit = TransferStore.Edit(
      description: task.description, encoded: encoded, host: TaskAdmission.hostName(task.description.request.url))
    if !leavesPassword { edit.password = .some(sealed(task)) }
    if changesFields { try seal(&edit) }
    edit.startsOver = !TransferEngine.isSameResource(stored.description.request.url, task.description.request.url)
    let written = edit
    let space = transfers[id].flatMap { sessions[$0.session] }.map { queueSpace(for: [encoded], of: $0.app) }
    // No run begins before the end of the change.
    transfers.update(id) { $0.isBeingEdited = true }
    answer(message, from: client, changing: .description(id)) {
      make(written, of: id, room: space?.room, tooLong: tooLong, ended: $0)
    } _: { engine, used in
      engine.tookQueueSpace(space, used: used)
      then(engine)
      engine.edited(id, request, task, written, leavesPassword: leavesPassword)
      return .done
    }
    // Behind that, and also where the change could not be made.
    changeLines.follow(.description(id)) { engine in engine.transfers.update(id) { $0.isBeingEdited = false } }
  }

  /// Bytes of another resource are forgotten with the change. So a run that counts such bytes is stopped first, and one that has
  /// its file by then ends the transfer.
  private func make(
    _ edit: TransferStore.Edit, of id: TransferID, room: TransferStore.QueueRoom?,
    tooLong: @escaping @Sendable (TransferEngine, TransferStoreError) -> Void,
    ended: @escaping @Sendable (Result<Int64?, any Error>) -> Void
  ) {
    let store = self.store
    let write: @Sendable () -> Void = {
      store.edit(id, edit, room: room) { result in
        if case .failure(let error as TransferStoreError) = result, case .tooManyBytes = error {
          self.enter { tooLong($0, error) }
        }
        ended(result)
      }
    }
    guard edit.startsOver, transfers[id]?.machine.isBusy == true else { return write() }
    transfers.update(id) { transfer in
      transfer.editAfterRun = { mayBeMade in
        guard mayBeMade else { return ended(.failure(TransferStoreError.transferIsOver(id))) }
        write()
      }
    }
    post(.requestChanged, to: id)
  }

  /// Makes the change that has waited for the end of a run, where there is one and the run has ended.
  func editAfterRun(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let edit = transfers[id]?.editAfterRun, let machine = transfers[id]?.machine, !machine.isBusy else { return }
    transfers.update(id) { $0.editAfterRun = nil }
    edit(!machine.isEnding)
  }

  private func edited(
    _ id: TransferID, _ request: RequestChange, _ task: TakenTask, _ edit: TransferStore.Edit, leavesPassword: Bool
  ) {
    runner.renewRecord(of: id)
    log.info("transfer \(id) is changed: \(request.changedParts.joined(separator: ", "))")
    // It may be over meanwhile.
    guard transfers[id] != nil else { return }
    transfers.update(id) {
      $0.priority = task.description.priority
      $0.host = edit.host
      $0.discretion?.take(task.description)
      if edit.startsOver { $0.discretion?.serverKeeps(KeptBytes(0)) }
      $0.statusBase = nil
      if edit.startsOver { ($0.received, $0.expectedTotal) = (0, -1) }
    }
    if !leavesPassword {
      passwords.forget(id)
      transfersAwaitingKey.remove(id)
      if let password = task.password { keep(password, of: id, isSealed: edit.password != .some(nil)) }
    }
    scheduler.setPriority(task.description.priority, of: id)
    if request.changesRequest {
      askAboutChangedRequest(id)
      post(.requestChanged, to: id)
    }
    tellWatchers(of: id)
  }

  /// Its wait for a change of its request ends.
  private func changeEnded(_ id: TransferID) {
    if transfersAwaitingChange.remove(id) != nil { post(.readable, to: id) }
  }

  /// Whether a change of the transfer's request has to be written before it runs. The transfer goes on when the change has
  /// ended.
  func awaitsChange(_ transfer: LiveTransfer) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    let id = transfer.id
    guard transfer.isBeingEdited else { return false }
    transfersAwaitingChange.insert(id)
    changeLines.follow(.description(id)) { $0.changeEnded(id) }
    return true
  }

  private func unfinished(_ id: TransferID) throws -> TransferMachine {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let machine = transfers[id]?.machine, !machine.isEnding else { throw Refusal.over(id) }
    return machine
  }

  private static func checkURL(_ text: String) throws {
    guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased() ?? ""),
      url.host?.isEmpty == false
    else { throw Refusal(.invalidRequest, "A transfer needs an http or https URL.") }
  }

  /// Whether bytes of one may belong to the other: only the query differs, as where a signature in it has run out. The
  /// server is asked all the same, by the validator of what is there.
  static func isSameResource(_ one: String, _ other: String) -> Bool {
    guard let one = URL(string: one), let other = URL(string: other) else { return false }
    return isSameOrigin(one, other) && one.path == other.path
  }

  static func isSameOrigin(_ one: String, _ other: String) -> Bool {
    guard let one = URL(string: one), let other = URL(string: other) else { return false }
    return isSameOrigin(one, other)
  }

  private static func isSameOrigin(_ one: URL, _ other: URL) -> Bool {
    one.scheme?.lowercased() == other.scheme?.lowercased() && one.host?.lowercased() == other.host?.lowercased()
      && port(one) == port(other)
  }

  private static func port(_ url: URL) -> Int { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
}
