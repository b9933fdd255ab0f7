/// A place where the user's secrets outlive the process. All calls have a time limit, and throw
/// ``SecretStoreUnavailable``, or `CancellationError` when the task is cancelled.
package protocol SecretStore: Sendable {
  /// The items that match all of `attributes`. May ask the user to unlock them.
  func find(_ attributes: SecretAttributes) async throws -> [SecretItem]
  /// Keeps `secret`, in the place of an item with exactly the same attributes. May ask the user to unlock the store.
  func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws
  /// Removes the items that match all of `attributes`; returns their number. May ask the user to unlock them.
  @discardableResult
  func remove(_ attributes: SecretAttributes) async throws -> Int
  /// The attributes of the items that match all of `attributes`. Asks the user nothing: items that would have to be
  /// unlocked for this are left out.
  func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes]
}

extension SecretStore {
  /// The attributes of all items of ours.
  package func list() async throws -> [SecretAttributes] { try await list(SecretAttributes()) }
}
