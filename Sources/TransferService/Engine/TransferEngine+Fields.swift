import DequeModule
import Dispatch
import Foundation
import SystemServices
import TransferProtocol

/// Keeps the header fields and bodies of requests sealed in the queue, and what servers have answered. A request that has
/// some, or that shows some, waits until it is known whether there is a key in the user's keychain.
extension TransferEngine {
  /// A transfer with what its request has sealed.
  enum Opened {
    case open(StoredTransfer)
    /// The key is at a place that can't be read now: a clause.
    case locked(because: String)
    /// There is no key any more that opens it.
    case lost
  }

  func unsealable() -> Refusal {
    // Both are tried again.
    openKey()
    return Refusal(
      .storage,
      "The header fields, bodies and files of tasks can't be sealed: "
        + "\(key.fileFault ?? "there is neither a keychain nor a file for the key").")
  }

  // MARK: Sealing

  /// The new transfer as the queue may hold it.
  func seal(_ new: inout TransferStore.NewTransfer) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    new.sealedRequest = try seal(&new.description)
    if new.sealedRequest != nil { new.encoded = nil }
  }

  /// Takes the fields out of the description. nil where there are none.
  private func seal(_ description: inout TransferDescription) throws -> Data? {
    guard let fields = SealedFields(of: description.request) else { return nil }
    let sealed = key.sealFields(try MessageFraming.encode(fields), for: SealedFields.purpose(of: description.token))
    guard let sealed else { throw unsealable() }
    SealedFields.remove(from: &description.request)
    hasSealedFields = true
    return sealed
  }

  /// The change of a request as the queue may hold it. `description` has the fields in `edit`.
  func seal(_ edit: inout TransferStore.Edit) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    edit.sealedRequest = .some(try seal(&edit.description))
    edit.encoded = try MessageFraming.encode(edit.description)
  }

  /// Of a session, for all of its requests.
  ///
  /// - Parameter program: the path of the app's program.
  func sealedFields(of options: SessionOptions, program: String, session: String) throws -> Data? {
    guard let fields = options.httpAdditionalHeaders, !fields.isEmpty else { return nil }
    let purpose = SealedFields.purpose(of: program, session)
    guard let sealed = key.sealFields(try MessageFraming.encode(fields), for: purpose) else {
      throw unsealable()
    }
    return sealed
  }

  // MARK: Opening

  func opened(_ stored: StoredTransfer) -> Opened {
    guard let sealed = stored.sealedRequest else { return .open(stored) }
    switch key.unsealFields(sealed, for: SealedFields.purpose(of: stored.description.token)) {
    case .open(let content):
      guard let fields = try? MessageFraming.decode(SealedFields.self, from: content) else { return .lost }
      var stored = stored
      fields.put(into: &stored.description.request)
      stored.sealedRequest = nil
      return .open(stored)
    case .locked(let cause): return .locked(because: cause)
    case .lost: return .lost
    }
  }

  /// For a change of the fields.
  func openedForChange(_ stored: StoredTransfer) throws -> StoredTransfer {
    guard case .open(let opened) = opened(stored) else {
      openKey()
      throw Refusal(
        .storage, "The header fields of transfer \(stored.head.id) are sealed, and the key to them can't be read now.")
    }
    return opened
  }

  /// The same for an app, without the fields where they can't be read.
  func shown(_ stored: StoredTransfer) -> StoredTransfer {
    var shown = if case .open(let opened) = opened(stored) { opened } else { stored }
    shown.response = stored.response.map { self.shown($0, of: stored.head.id) }
    return shown
  }

  func shown(_ response: ResponseSummary, of id: TransferID) -> ResponseSummary { key.opened(response, of: id).known }

  /// Gives a session of the queue its additional header fields, before a transfer runs. nil where it has them.
  func restoreFields(of id: SessionID) -> Opened? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let session = sessions[id], let sealed = session.sealedFields else { return nil }
    switch key.unsealFields(sealed, for: SealedFields.purpose(of: session.executable.path, session.identifier)) {
    case .open(let content):
      guard let fields = try? MessageFraming.decode([HeaderField].self, from: content) else { return .lost }
      sessions.update(id) { session in
        session.options.httpAdditionalHeaders = fields
        session.sealedFields = nil
      }
      return nil
    case .locked(let cause): return .locked(because: cause)
    case .lost: return .lost
    }
  }

  // MARK: Waiting for the key

  /// Keeps a request that needs the key until it is known whether there is one, and those that follow it.
  func awaitsKey(_ message: ClientMessage, from client: any ServiceClient) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !key.isSettled, needsKey(message.request) else { return false }
    clients[client.id]?.waiting = [.message(message)]
    clientsAwaitingKey.insert(client.id)
    openKey()
    return true
  }

  private func needsKey(_ request: ClientRequest) -> Bool {
    switch request {
    case .createTasks(let creation):
      creation.tasks.contains { SealedFields(of: $0.request) != nil || $0.kind == .upload }
    case .attach(let attach): hasSealedFields || attach.options.httpAdditionalHeaders?.isEmpty == false
    case .sessionTasks: hasSealedFields
    case .editTransfer(let edit): edit.changesFields
    case .answerDelayedRequest(let answer):
      if case .useNewRequest(let request) = answer.disposition {
        hasSealedFields || SealedFields(of: request) != nil
      } else {
        false
      }
    default: false
    }
  }

  func keyIsSettledForClients() {
    dispatchPrecondition(condition: .onQueue(queue))
    for id in clientsAwaitingKey {
      guard let client = clients[id]?.client else { continue }
      enter { $0.handleWaiting(of: client) }
    }
    clientsAwaitingKey = []
  }
}
