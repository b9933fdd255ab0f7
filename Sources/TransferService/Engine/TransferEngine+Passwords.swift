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
    passwords.keep(password, of: id, isSealed: isSealed)
    if !isSealed { openKey() }
  }

  func openKey() {
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
    // Their waits end.
    for id in transfersAwaitingKey { post(.networkChanged, to: id) }
    transfersAwaitingKey = []
  }

  private func seal(_ password: SecretBytes, of id: TransferID) {
    do {
      guard isServing, let stored = try store.transfer(id),
        let sealed = key.seal(password, for: TransferEngine.purpose(of: stored.description))
      else { return }
      try store.setSealedPassword(sealed, of: id)
      passwords.isSealed(id)
    } catch { log.warning("after a restart of the service, transfer \(id) may wait for its app: \(error)") }
  }

  /// Whether the transfer's password is in the queue, and the key to it is still asked for.
  func awaitsKey(_ stored: StoredTransfer) -> Bool {
    let needsPassword = stored.sealedPassword != nil && passwords[stored.head.id] == nil
    let session = sessions[stored.head.session]
    let needsLogins = session?.sealedOptions != nil
    let needsFields = stored.sealedRequest != nil || session?.sealedFields != nil
    guard needsPassword || needsLogins || needsFields, !key.isSettled else { return false }
    waitForKey(stored.head.id)
    return true
  }

  /// Its next try waits until it is known whether there is a key.
  func waitForKey(_ id: TransferID) {
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

  /// Attaches in the queue. The session that is returned has the app's own options.
  ///
  /// - Parameter program: the path of the app's program.
  func keep(_ request: Attach, of app: AppID, program: String, holder: StoredHolder) throws -> StoredSession {
    var plain = request.options.withoutLogins
    let hasLogins = plain != request.options
    let sealed = hasLogins ? sealed(request.options, of: app, request.session) : nil
    let fields = try sealedFields(of: plain, program: program, session: request.session)
    plain.httpAdditionalHeaders = nil
    var stored = try store.attach(
      app: app, identifier: request.session, options: plain, sealedOptions: sealed, sealedFields: fields,
      holder: holder, limit: settings.sessionsPerApp, sparing: Set(sessions.ids))
    (stored.options, stored.sealedOptions, stored.sealedFields) = (request.options, nil, nil)
    unsealedSessions.remove(stored.id)
    if hasLogins, sealed == nil {
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
    guard isServing, let session = sessions[id],
      let sealed = sealed(session.options, of: session.app, session.identifier)
    else { return }
    do {
      try store.setSealedOptions(sealed, of: id)
      unsealedSessions.remove(id)
    } catch { log.warning("after a restart of the service, session \(id) may wait for its app: \(error)") }
  }

  /// Gives a session of the queue the logins of its proxies, before a transfer runs.
  func restoreLogins(of id: SessionID) {
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
