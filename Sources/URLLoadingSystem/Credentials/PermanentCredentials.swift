import Foundation
import Synchronization
import SystemServices

/// The credentials of the user's keychain, for the app's shared storage: what was kept there is read when a space is first
/// asked about, and changes are written in the order in which they were made.
///
/// Nothing outlives the process without a keychain, unless the user has named a file for secrets.
final class PermanentCredentials: Sendable {
  private enum Change: Sendable {
    case keep(SecretBytes, SecretAttributes)
    case remove(SecretAttributes)
    case reached(@Sendable () -> Void)
  }

  private let openStore: @Sendable () async -> (any SecretStore)?
  private let store = Mutex<Task<(any SecretStore)?, Never>?>(nil)
  private let changes: AsyncStream<Change>.Continuation
  private let isWriting = Mutex(false)
  private let pending: Mutex<AsyncStream<Change>?>

  init(openStore: @escaping @Sendable () async -> (any SecretStore)? = { await UserSecrets.store() }) {
    self.openStore = openStore
    let (stream, continuation) = AsyncStream.makeStream(of: Change.self)
    changes = continuation
    pending = Mutex(stream)
  }

  deinit { changes.finish() }

  /// The credentials of a space. The keychain may ask the user to unlock it. Empty when it can't be read.
  func credentials(for space: URLProtectionSpace) async -> [URLCredential] {
    guard let query = SecretAttributes(space), let store = await openedStore(),
      let items = try? await store.find(query)
    else { return [] }
    return items.compactMap { item in
      guard let user = item.attributes[.user] else { return nil }
      return URLCredential(user: user, secret: item.secret, persistence: .permanent)
    }
  }

  func keep(_ credential: URLCredential, for space: URLProtectionSpace) {
    guard let user = credential.user, credential.hasPassword, var attributes = SecretAttributes(space) else { return }
    attributes[.user] = user
    write(.keep(credential.withPassword { SecretBytes(copying: $0) }, attributes))
  }

  func remove(_ credential: URLCredential, for space: URLProtectionSpace) {
    guard let user = credential.user, var attributes = SecretAttributes(space) else { return }
    attributes[.user] = user
    write(.remove(attributes))
  }

  /// Calls `action` once every change so far is written.
  func whenWritten(_ action: @escaping @Sendable () -> Void) {
    guard isWriting.withLock({ $0 }) else { return action() }
    changes.yield(.reached(action))
  }

  private func write(_ change: Change) {
    isWriting.withLock { $0 = true }
    changes.yield(change)
    let stream = pending.withLock { pending in
      defer { pending = nil }
      return pending
    }
    guard let stream else { return }
    let opened = storeTask()
    Task.detached(executorPreference: KeychainExecutor.shared) {
      for await change in stream {
        switch change {
        // A keychain that can't be written to leaves the credential to this process.
        case .keep(let secret, let attributes): try? await opened.value?.store(secret, for: attributes)
        case .remove(let attributes): _ = try? await opened.value?.remove(attributes)
        case .reached(let action): action()
        }
      }
    }
  }

  private func openedStore() async -> (any SecretStore)? { await storeTask().value }

  private func storeTask() -> Task<(any SecretStore)?, Never> {
    store.withLock { store in
      if let store { return store }
      let task = Task.detached(executorPreference: KeychainExecutor.shared) { [openStore] in await openStore() }
      store = task
      return task
    }
  }
}

extension SecretAttributes {
  /// nil for spaces whose credentials are no passwords.
  fileprivate init?(_ space: URLProtectionSpace) {
    guard
      ![NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate]
        .contains(space.authenticationMethod)
    else { return nil }
    // Equal spaces have equal attributes.
    let identity = space.canonical
    self.init([
      .server: identity.host, .port: String(identity.port), .protocol: identity.scheme ?? "",
      .realm: identity.realm ?? "", .authentication: identity.authenticationMethod,
      .proxyType: identity.proxyType ?? "",
    ])
  }
}
