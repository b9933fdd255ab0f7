import Foundation
import Synchronization

/// A store of credentials by protection space. May be used from any thread.
///
/// Credentials live in memory, also those whose persistence asks for more.
open class URLCredentialStorage: NSObject, @unchecked Sendable {
  // Sendable by hand: what changes is behind the lock.

  private struct Space {
    var byUser: [String: URLCredential] = [:]
    var defaultUser: String?
  }

  private let spaces = Mutex<[URLProtectionSpace: Space]>([:])

  /// A store of its own.
  public override init() {}

  /// The app's store.
  open class var shared: URLCredentialStorage { sharedStorage }

  private static let sharedStorage = URLCredentialStorage()

  // MARK: By space

  /// The credentials of a space by user name; nil when there is none.
  open func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
    spaces.withLock { $0[space]?.byUser }
  }

  open var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
    spaces.withLock { $0.mapValues(\.byUser) }
  }

  /// Stores a credential in place of the one of the same user. The first one of a space becomes its default. One
  /// without a user name, or whose persistence is `.none`, is not stored.
  open func set(_ credential: URLCredential, for space: URLProtectionSpace) {
    _ = store(credential, for: space)
  }

  /// As `remove(_:for:options:)` without options.
  open func remove(_ credential: URLCredential, for space: URLProtectionSpace) {
    remove(credential, for: space, options: nil)
  }

  /// Removes the credential of the same user. A synchronizable one is only removed when the options say so.
  ///
  /// - Parameter options: `NSURLCredentialStorageRemoveSynchronizableCredentials` with true.
  open func remove(_ credential: URLCredential, for space: URLProtectionSpace, options: [String: Any]? = nil) {
    guard let user = credential.user else { return }
    let option = options?[NSURLCredentialStorageRemoveSynchronizableCredentials]
    let removesSynchronizable = option as? Bool ?? (option as? NSNumber)?.boolValue ?? false
    spaces.withLock { spaces in
      guard var stored = spaces[space], let present = stored.byUser[user] else { return }
      guard present.persistence != .synchronizable || removesSynchronizable else { return }
      stored.byUser[user] = nil
      if stored.defaultUser == user { stored.defaultUser = nil }
      spaces[space] = stored.byUser.isEmpty ? nil : stored
    }
  }

  /// The credential that is used without asking; nil when none was chosen.
  open func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
    spaces.withLock { spaces in
      spaces[space].flatMap { stored in stored.defaultUser.flatMap { stored.byUser[$0] } }
    }
  }

  /// Chooses the credential that is used without asking, and stores it.
  open func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
    guard let user = store(credential, for: space) else { return }
    spaces.withLock { $0[space]?.defaultUser = user }
  }

  private func store(_ credential: URLCredential, for space: URLProtectionSpace) -> String? {
    guard let user = credential.user, credential.persistence != .none else { return nil }
    spaces.withLock { spaces in
      if spaces[space] == nil { spaces[space] = Space(defaultUser: user) }
      spaces[space]?.byUser[user] = credential
    }
    return user
  }

  /// Forgets everything.
  package func removeAll() { spaces.withLock { $0.removeAll() } }

  // MARK: By task
  // Loads call these: override them to decide task by task.

  /// Calls `completionHandler`, on the calling thread, with the credentials of a space by user name.
  @preconcurrency
  open func getCredentials(
    for protectionSpace: URLProtectionSpace, task: URLSessionTask,
    completionHandler: @escaping @Sendable ([String: URLCredential]?) -> Void
  ) {
    completionHandler(credentials(for: protectionSpace))
  }

  /// The credentials of a space by user name; nil when there is none.
  public func credentials(for protectionSpace: URLProtectionSpace, task: URLSessionTask) async -> [String:
    URLCredential]?
  {
    await withCheckedContinuation { continuation in
      getCredentials(for: protectionSpace, task: task) { continuation.resume(returning: $0) }
    }
  }

  open func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
    set(credential, for: protectionSpace)
  }

  open func remove(
    _ credential: URLCredential, for protectionSpace: URLProtectionSpace, options: [String: Any]? = nil,
    task: URLSessionTask
  ) {
    remove(credential, for: protectionSpace, options: options)
  }

  /// Calls `completionHandler`, on the calling thread, with the credential that is used without asking.
  @preconcurrency
  open func getDefaultCredential(
    for space: URLProtectionSpace, task: URLSessionTask, completionHandler: @escaping @Sendable (URLCredential?) -> Void
  ) {
    completionHandler(defaultCredential(for: space))
  }

  /// The credential that is used without asking; nil when none was chosen.
  public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
    await withCheckedContinuation { continuation in
      getDefaultCredential(for: space, task: task) { continuation.resume(returning: $0) }
    }
  }

  open func setDefaultCredential(
    _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
  ) {
    setDefaultCredential(credential, for: protectionSpace)
  }
}

/// The option that removes synchronizable credentials, on all of the user's devices.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
  "NSURLCredentialStorageRemoveSynchronizableCredentials"

extension Notification.Name {
  /// Never posted, as on Apple's systems.
  public static let NSURLCredentialStorageChanged = Notification.Name("NSURLCredentialStorageChangedNotification")
}
