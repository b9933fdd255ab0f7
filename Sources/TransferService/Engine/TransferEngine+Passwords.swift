import Dispatch
import Foundation
import SystemServices
import TransferProtocol

/// Keeps the passwords that stand in URLs, and the logins of proxies, out of the queue. The URL of a stored transfer names
/// its user alone.
///
/// A secret is in memory from the moment when the service gets it, and sealed in the queue as soon as there is a key. A
/// transfer whose password was lost with the process runs without it: the server asks, and only the app can answer.
extension TransferEngine {
  /// A task as the queue may hold it, and the password of its URL.
  struct TakenTask {
    var description: TransferDescription
    let password: SecretBytes?

    init(_ task: TransferDescription) {
      description = task
      let parts = PasswordURL(task.request.url)
      description.request.url = parts.url
      description.request.mainDocumentURL = task.request.mainDocumentURL.map { PasswordURL($0).url }
      description.resumePoint?.url = PasswordURL(task.resumePoint?.url ?? "").url
      password = parts.password.map { SecretBytes.copy(of: $0) }
    }
  }

  /// The password of a new task for its row; nil where there is none, or no key yet.
  func sealed(_ task: TakenTask) -> Data? {
    task.password.flatMap { key.seal($0, for: TransferEngine.purpose(of: task.description)) }
  }

  /// A sealed password is of use with its own transfer alone.
  private static func purpose(of description: TransferDescription) -> String {
    "the password of \(description.token) for \(description.request.url)"
  }

  /// A password that is not in the queue gets there as soon as there is a key.
  func keep(_ password: SecretBytes, of id: TransferID, isSealed: Bool) {
    dispatchPrecondition(condition: .onQueue(queue))
    passwords.keep(password, of: id, isSealed: isSealed)
    if !isSealed { openKey() }
  }

  func openKey() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !isOpeningKey else { return }
    isOpeningKey = true
    key.open { [weak self] in
      self?.enter { $0.keyIsSettled() }
    }
  }

  private func keyIsSettled() {
    isOpeningKey = false
    for (id, password) in passwords.unsealed { seal(password, of: id) }
    for id in unsealedSessions { sealLogins(of: id) }
    keyIsSettledForClients()
    keyIsSettledForEnds()
    // Their waits end.
    for id in transfersAwaitingKey { post(.readable, to: id) }
    transfersAwaitingKey = []
  }

  private func seal(_ password: SecretBytes, of id: TransferID) {
    // It is sealed for its URL, which may be another one then, and so may the password.
    guard !changeLines.isBusy(.description(id)) else {
      return changeLines.wait(for: .description(id)) { engine in
        if let password = engine.passwords.unsealed.first(where: { $0.transfer == id })?.password {
          engine.seal(password, of: id)
        }
      }
    }
    @Sendable func failed(_ engine: TransferEngine, _ error: any Error) {
      engine.log.warning("after a restart of the service, transfer \(id) may wait for its app: \(error)")
    }
    do {
      guard isServing, let stored = try store.transfer(id),
        let sealed = key.seal(password, for: TransferEngine.purpose(of: stored.description))
      else { return }
      whenWritten(changing: .description(id)) {
        store.setSealedPassword(sealed, of: id, ended: $0)
      } then: { engine, result in
        switch result {
        case .success: engine.passwords.isSealed(id)
        case .failure(let error): failed(engine, error)
        }
      }
    } catch { failed(self, error) }
  }

  /// Whether the transfer's password is in the queue, and the key to it is still asked for.
  func awaitsKey(_ stored: StoredTransfer) -> Bool {
    let needsPassword = stored.sealedPassword != nil && passwords[stored.head.id] == nil
    let session = sessions[stored.head.session]
    let needsLogins = session?.sealedOptions != nil
    let needsFields = stored.sealedRequest != nil || session?.sealedFields != nil
    let needsCopy = stored.upload?.sealedCopy != nil
    guard needsPassword || needsLogins || needsFields || needsCopy, !key.isSettled else { return false }
    waitForKey(stored.head.id)
    return true
  }

  /// Its next try waits until it is known whether there is a key.
  func waitForKey(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    transfersAwaitingKey.insert(id)
    openKey()
  }

  func password(of stored: StoredTransfer) -> SecretBytes? {
    let id = stored.head.id
    if let known = passwords[id] { return known }
    guard let sealed = stored.sealedPassword else { return nil }
    guard let password = key.unseal(sealed, for: TransferEngine.purpose(of: stored.description)) else {
      log.notice("the password of transfer \(id) can't be read: its server's question goes to the app")
      return nil
    }
    passwords.keep(password, of: id, isSealed: true)
    return password
  }

  // MARK: Proxies

  /// The options of a session as the queue may hold them.
  struct KeptOptions: Sendable {
    var options: SessionOptions
    var hasLogins: Bool
    var sealedOptions: Data?
    var sealedFields: Data?
  }

  /// - Parameter program: the path of the app's program.
  func keeping(_ request: Attach, of app: AppID, program: String) throws -> KeptOptions {
    dispatchPrecondition(condition: .onQueue(queue))
    var plain = request.options.withoutLogins
    let hasLogins = plain != request.options
    let sealed = hasLogins ? sealed(request.options, of: app, request.session) : nil
    let fields = try sealedFields(of: plain, program: program, session: request.session)
    plain.httpAdditionalHeaders = nil
    return KeptOptions(options: plain, hasLogins: hasLogins, sealedOptions: sealed, sealedFields: fields)
  }

  /// The session is in the queue. The one that is returned has the app's own options.
  func kept(_ stored: StoredSession, _ request: Attach, _ kept: KeptOptions) -> StoredSession {
    dispatchPrecondition(condition: .onQueue(queue))
    var stored = stored
    (stored.options, stored.sealedOptions, stored.sealedFields) = (request.options, nil, nil)
    unsealedSessions.remove(stored.id)
    if kept.hasLogins, kept.sealedOptions == nil {
      unsealedSessions.insert(stored.id)
      openKey()
    }
    return stored
  }

  private static func purpose(of app: AppID, _ session: String) -> String { "the proxies of \(app) for \(session)" }

  private func sealed(_ options: SessionOptions, of app: AppID, _ session: String) -> Data? {
    guard let encoded = try? MessageFraming.encode(options) else { return nil }
    let secret = encoded.withUnsafeBytes { SecretBytes(copying: $0) }
    return key.seal(secret, for: TransferEngine.purpose(of: app, session))
  }

  private func sealLogins(of id: SessionID) {
    guard isServing, unsealedSessions.contains(id), let session = sessions[id] else { return }
    let subject = ChangeLines.Subject.sessions(session.app)
    // Its options may be others then.
    guard !changeLines.isBusy(subject) else { return changeLines.wait(for: subject) { $0.sealLogins(of: id) } }
    guard let sealed = sealed(session.options, of: session.app, session.identifier) else { return }
    whenWritten(changing: subject) {
      store.setSealedOptions(sealed, of: id, ended: $0)
    } then: { engine, result in
      switch result {
      case .success: engine.unsealedSessions.remove(id)
      case .failure(let error):
        engine.log.warning("after a restart of the service, session \(id) may wait for its app: \(error)")
      }
    }
  }

  /// Gives a session of the queue the logins of its proxies, before a transfer runs.
  func restoreLogins(of id: SessionID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let session = sessions[id], let sealed = session.sealedOptions else { return }
    let secret = key.unseal(sealed, for: TransferEngine.purpose(of: session.app, session.identifier))
    let options = secret?.withBytes { bytes -> SessionOptions? in
      try? MessageFraming.decode(SessionOptions.self, from: Data(bytes))
    }
    guard let options else {
      return log.notice("the logins of the proxies of session \(id) can't be read: a proxy's question goes to the app")
    }
    sessions.update(id) { session in
      session.options = options
      session.sealedOptions = nil
    }
  }
}
