import Foundation
import Synchronization
import SystemServices

/// The credentials of the user's keychain, for the app's shared storage: what was kept there is read when a space is first
/// asked about, and changes are written in the order in which they were made.
///
/// Nothing outlives the process without a keychain, unless the user has named a file for secrets. A keychain that can't be
/// read is asked again after a pause.
final class PermanentCredentials: Sendable {
  /// The permanent credentials of one space.
  struct Found: Sendable {
    var credentials: [URLCredential] = []
    var defaultUser: String?
    /// Whether the default was chosen. Otherwise it is the first one by name.
    var isDefaultChosen = false
  }

  private enum Change: Sendable {
    case keep(SecretBytes, SecretAttributes, isDefault: Bool)
    case remove(SecretAttributes)
    case reached(@Sendable () -> Void)
  }

  private let store: OpenedSecretStore
  private let now: @Sendable () -> ContinuousClock.Instant
  private let pause = Mutex(KeychainPause())
  private let changes: AsyncStream<Change>.Continuation
  private let isWriting = Mutex(false)
  private let pending: Mutex<AsyncStream<Change>?>

  init(
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    openStore: @escaping @Sendable () async -> (any SecretStore)? = { await UserSecrets.store() }
  ) {
    store = OpenedSecretStore(open: openStore)
    self.now = now
    let (stream, continuation) = AsyncStream.makeStream(of: Change.self)
    changes = continuation
    pending = Mutex(stream)
  }

  deinit { changes.finish() }

  // MARK: Reading

  /// False for a while after the keychain could not be read.
  var mayBeRead: Bool { pause.withLock { $0.isOver(at: now()) } }

  /// The credentials of a space. The keychain may ask the user to unlock it. nil when it can't be read now.
  func credentials(for space: URLProtectionSpace) async -> Found? {
    guard let query = SecretAttributes(space) else { return Found() }
    return await read { store in
      let items = try await store.find(query)
      let marks = items.count > 1 ? try await store.list(query.markOfDefault(nil)) : []
      return Found(items, markedUser: marks.lazy.compactMap { $0[.user] }.first)
    }
  }

  /// The credentials of all spaces, as above.
  func allCredentials() async -> [URLProtectionSpace: Found]? {
    await read { store in
      let items = try await store.find(SecretAttributes())
      var markedUsers: [SecretAttributes: String] = [:]
      for item in items {
        if let space = item.attributes.spaceOfMark { markedUsers[space] = item.attributes[.user] }
      }
      return Dictionary(grouping: items) { $0.attributes.ofSpace }.reduce(into: [:]) { found, entry in
        // Other secrets of ours belong to no space.
        guard let space = URLProtectionSpace(entry.key) else { return }
        found[space] = Found(entry.value, markedUser: markedUsers[entry.key])
      }
    }
  }

  private func read<Value: Sendable>(_ body: (any SecretStore) async throws -> Value) async -> Value? {
    if let store = await store.value(), let value = try? await body(store) {
      pause.withLock { $0.succeeded() }
      return value
    }
    pause.withLock { $0.failed(at: now()) }
    return nil
  }

  // MARK: Writing

  /// - Parameter isDefault: Whether it becomes the default credential of its space. Without that, a credential that was
  ///   alone in the keychain stays the default one.
  func keep(_ credential: URLCredential, for space: URLProtectionSpace, isDefault: Bool = false) {
    guard let user = credential.user, credential.hasPassword, var attributes = SecretAttributes(space) else { return }
    attributes[.user] = user
    write(.keep(credential.withPassword { SecretBytes(copying: $0) }, attributes, isDefault: isDefault))
  }

  func remove(_ user: String, for space: URLProtectionSpace) {
    guard var attributes = SecretAttributes(space) else { return }
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
    Task.detached(executorPreference: KeychainExecutor.shared) { [store] in
      for await change in stream {
        switch change {
        // A keychain that can't be written to leaves the credential to this process.
        case .keep(let secret, let attributes, let isDefault):
          try? await store.value()?.keep(secret, attributes, isDefault: isDefault)
        case .remove(let attributes): try? await store.value()?.removeCredential(attributes)
        case .reached(let action): action()
        }
      }
    }
  }
}

extension PermanentCredentials.Found {
  fileprivate init(_ items: [SecretItem], markedUser: String?) {
    credentials = items.compactMap { item in
      item.attributes[.user].map { URLCredential(user: $0, secret: item.secret, persistence: .permanent) }
    }
    let users = Set(credentials.compactMap(\.user))
    isDefaultChosen = users.count == 1 || markedUser.map(users.contains) == true
    defaultUser = users.count > 1 && isDefaultChosen ? markedUser : users.min()
  }
}

extension SecretStore {
  /// Keeps a credential, and which one of its space is the default. One that is alone there needs no word of that.
  fileprivate func keep(_ secret: SecretBytes, _ attributes: SecretAttributes, isDefault: Bool) async throws {
    try await store(secret, for: attributes)
    let others = try await list(attributes.ofSpace).compactMap { $0[.user] }.filter { $0 != attributes[.user] }
    let marked = try await list(attributes.markOfDefault(nil)).compactMap { $0[.user] }
    let wanted = isDefault ? attributes[.user] : marked.isEmpty && others.count == 1 ? others.first : nil
    guard let wanted, !others.isEmpty, marked != [wanted] else { return }
    if !marked.isEmpty { try await remove(attributes.markOfDefault(nil)) }
    try await store(.copy(of: ""), for: attributes.markOfDefault(wanted))
  }

  fileprivate func removeCredential(_ attributes: SecretAttributes) async throws {
    try await remove(attributes)
    try await remove(attributes.markOfDefault(attributes[.user]))
  }
}

/// The place for secrets, opened when it is first needed; where there is none, it is looked for again the next time.
private final class OpenedSecretStore: Sendable {
  private let open: @Sendable () async -> (any SecretStore)?
  private let task = Mutex<Task<(any SecretStore)?, Never>?>(nil)

  init(open: @escaping @Sendable () async -> (any SecretStore)?) { self.open = open }

  func value() async -> (any SecretStore)? {
    let opening = task.withLock { task in
      if let task { return task }
      let made = Task.detached(executorPreference: KeychainExecutor.shared) { [open] in await open() }
      task = made
      return made
    }
    if let store = await opening.value { return store }
    task.withLock { if $0 == opening { $0 = nil } }
    return nil
  }
}
