import Foundation
import SystemServices
import TransferProtocol

/// Keeps out of the queue what lets requests in: the passwords that stand in URLs, the logins of proxies, and the fields
/// Authorization, Proxy-Authorization and Cookie that an app sets by itself. The URL of a stored transfer names its user
/// alone, and a stored request the fields that it is without.
///
/// A secret is in memory from the moment when the service gets it, and sealed in the queue as soon as there is a key. A
/// transfer whose password was lost with the process runs without it: the server asks, and only the app can answer. One
/// whose fields were lost does not run (`TransferEngine+Readiness.swift`).
extension TransferEngine {
  /// A task as the queue may hold it, and its secrets.
  struct TakenTask {
    var description: TransferDescription
    let secrets: SecretBytes?

    init(_ task: TransferDescription) throws {
      description = task
      let taken = TaskSecrets(takenFrom: &description)
      secrets = taken.isEmpty ? nil : try taken.encoded()
    }
  }

  /// The secrets of a new task for its row; nil where there are none, or no key yet.
  func sealed(_ task: TakenTask) -> Data? {
    task.secrets.flatMap { key.seal($0, for: TransferEngine.purpose(of: task.description)) }
  }

  /// Sealed secrets are of use with their own transfer alone.
  private static func purpose(of description: TransferDescription) -> String {
    "the secrets of \(description.token) for \(description.request.url)"
  }

  /// Of rows of earlier versions, which have the password alone, as it stood in the URL.
  private static func passwordPurpose(of description: TransferDescription) -> String {
    "the password of \(description.token) for \(description.request.url)"
  }

  /// Secrets that are not in the queue get there as soon as there is a key.
  func keep(_ new: SecretBytes, of id: TransferID, isSealed: Bool) {
    secrets.keep(new, of: id, isSealed: isSealed)
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
    for (id, unsealed) in secrets.unsealed { seal(unsealed, of: id) }
    for id in unsealedSessions { sealOptions(of: id) }
    // Their waits end.
    for id in transfersAwaitingKey { post(.networkChanged, to: id) }
    transfersAwaitingKey = []
    guard key.isOpen else { return }
    for id in transfersAwaitingUnlocking { post(.networkChanged, to: id) }
    transfersAwaitingUnlocking = []
  }

  private func seal(_ unsealed: SecretBytes, of id: TransferID) {
    do {
      guard isServing, let stored = try store.transfer(id),
        let sealed = key.seal(unsealed, for: TransferEngine.purpose(of: stored.description))
      else { return }
      try store.setSealedSecrets(sealed, of: id)
      secrets.isSealed(id)
    } catch { log.warning("after a restart of the service, transfer \(id) may wait for its app: \(error)") }
  }

  /// Whether secrets of the transfer are in the queue, and the key to them is still asked for.
  func awaitsKey(_ stored: StoredTransfer) -> Bool {
    let needsOwn = stored.sealedSecrets != nil && secrets[stored.head.id] == nil
    let needsOptions = sessions[stored.head.session]?.sealedOptions != nil
    guard needsOwn || needsOptions, !key.isSettled else { return false }
    transfersAwaitingKey.insert(stored.head.id)
    openKey()
    return true
  }

  /// The secrets that the stored description is without; nil where there are none, or they can't be read.
  func secrets(of stored: StoredTransfer) -> TaskSecrets? {
    let id = stored.head.id
    if let known = secrets[id] { return TaskSecrets(known) }
    guard let sealed = stored.sealedSecrets else { return nil }
    guard let opened = opened(sealed, of: stored.description), let encoded = try? opened.encoded() else {
      log.notice("the secrets of transfer \(id) can't be read")
      return nil
    }
    secrets.keep(encoded, of: id, isSealed: true)
    return opened
  }

  private func opened(_ sealed: Data, of description: TransferDescription) -> TaskSecrets? {
    if let secret = key.unseal(sealed, for: TransferEngine.purpose(of: description)) { return TaskSecrets(secret) }
    let password = key.unseal(sealed, for: TransferEngine.passwordPurpose(of: description))
    return password?.text().map { TaskSecrets(password: $0) }
  }

  // MARK: Options of sessions

  /// Attaches in the queue. The session that is returned has the app's own options.
  func keep(_ request: Attach, of app: AppID, holder: StoredHolder) throws -> StoredSession {
    var options = request.options
    options.sealedFields = nil
    let plain = options.withoutSecrets
    let sealed = plain == options ? nil : sealed(options, of: app, request.session)
    var stored = try store.attach(
      app: app, identifier: request.session, options: plain, sealedOptions: sealed, holder: holder,
      limit: settings.sessionsPerApp, sparing: Set(sessions.ids))
    (stored.options, stored.sealedOptions) = (options, nil)
    unsealedSessions.remove(stored.id)
    if plain != options, sealed == nil {
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

  private func sealOptions(of id: SessionID) {
    guard isServing, let session = sessions[id],
      let sealed = sealed(session.options, of: session.app, session.identifier)
    else { return }
    do {
      try store.setSealedOptions(sealed, of: id)
      unsealedSessions.remove(id)
    } catch { log.warning("after a restart of the service, session \(id) may wait for its app: \(error)") }
  }

  /// Gives a session of the queue the logins of its proxies and its fields, before a transfer runs.
  func restoreSecrets(of id: SessionID) {
    guard let session = sessions[id], let sealed = session.sealedOptions else { return }
    let secret = key.unseal(sealed, for: TransferEngine.purpose(of: session.app, session.identifier))
    let options = secret?.withBytes { bytes -> SessionOptions? in
      try? MessageFraming.decode(SessionOptions.self, from: Data(bytes))
    }
    guard let options else {
      return log.notice("the secrets of session \(id) can't be read: they come back with its app")
    }
    sessions.update(id) { session in
      session.options = options
      session.sealedOptions = nil
    }
  }
}
