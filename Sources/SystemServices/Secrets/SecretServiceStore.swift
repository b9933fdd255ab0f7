import Foundation

/// The user's keychain: whichever program provides the Secret Service (gnome-keyring, KWallet, KeePassXC) on the
/// session's message bus. Secrets cross the bus encrypted. Each operation is a connection of its own, so a service that
/// was restarted meanwhile makes no difference.
package struct SecretServiceStore: SecretStore {
  /// Several: a prompt that waits for the user must not keep other operations from running.
  private static let calls = BlockingCalls(name: "secret-service")

  private let limit: Duration
  private let promptLimit: Duration
  private let asksUser: Bool

  /// - Parameter limit: for what needs no answer of the user.
  /// - Parameter promptLimit: for what may wait for the user.
  /// - Parameter asksUser: whether locked items may make the service ask the user. A service without a terminal or a
  ///   window does not ask.
  package init(limit: Duration = .seconds(10), promptLimit: Duration = .seconds(120), asksUser: Bool = true) {
    self.limit = limit
    self.promptLimit = promptLimit
    self.asksUser = asksUser
  }

  /// Whether there is a service, or one that the bus can start.
  package func isPresent() async -> Bool { (try? await perform(within: limit) { _ in true }) ?? false }

  package func find(_ attributes: SecretAttributes) async throws -> [SecretItem] {
    if let items = try await unlockedItems(attributes) { return items }
    try await unlock(attributes)
    guard let items = try await unlockedItems(attributes) else { throw SecretStoreUnavailable(.locked) }
    return items
  }

  /// nil when one of them is locked.
  private func unlockedItems(_ attributes: SecretAttributes) async throws -> [SecretItem]? {
    try await perform(within: limit) { session in
      var found: [SecretItem] = []
      for item in try session.search(attributes, loadsSecrets: true) {
        if item.isLocked { return nil }
        // An item that was removed meanwhile has no secret.
        if let secret = try item.secret() { found.append(SecretItem(attributes: item.attributes, secret: secret)) }
      }
      return found
    }
  }

  package func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws {
    if try await perform(within: limit, { try $0.isReadyToStore() }) {
      return try await perform(within: limit) { try $0.store(secret, for: attributes) }
    }
    guard asksUser else { throw SecretStoreUnavailable(.locked) }
    try await perform(within: promptLimit) { try $0.store(secret, for: attributes) }
  }

  package func remove(_ attributes: SecretAttributes) async throws -> Int {
    try await unlock(attributes)
    return try await perform(within: limit) { session in
      let items = try session.search(attributes, loadsSecrets: false)
      for item in items { try session.delete(item) }
      return items.count
    }
  }

  package func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] {
    try await perform(within: limit) { session in
      try session.search(attributes, loadsSecrets: false).filter { !$0.isLocked }.map(\.attributes)
    }
  }

  /// Asks the user to unlock what matches and is locked.
  private func unlock(_ attributes: SecretAttributes) async throws {
    let isLocked = try await perform(within: limit) { session in
      try session.search(attributes, loadsSecrets: false).contains { $0.isLocked }
    }
    guard isLocked else { return }
    guard asksUser else { throw SecretStoreUnavailable(.locked) }
    let isUnlocked = try await perform(within: promptLimit) { session in
      try session.unlock(session.search(attributes, loadsSecrets: false).filter { $0.isLocked })
    }
    guard isUnlocked else { throw SecretStoreUnavailable(.locked) }
  }

  private func perform<Value: Sendable>(
    within limit: Duration, _ work: @escaping @Sendable (SecretServiceSession) throws -> Value
  ) async throws -> Value {
    guard SessionBus.exists() else { throw SecretStoreUnavailable(.noBus) }
    guard let library = SecretLibrary.shared else { throw SecretStoreUnavailable(.noLibrary(SecretLibrary.name)) }
    let cancellation = SecretCancellation(library)
    do {
      return try await Self.calls.run(within: limit, cancel: { cancellation.cancel() }) {
        try work(SecretServiceSession(library, cancellation))
      }
    } catch let expired as BlockingCalls.Expired {
      throw SecretStoreUnavailable(.expired(expired.limit))
    } catch let error as SystemError {
      throw SecretStoreUnavailable(.failed("\(error)"))
    }
  }
}
