import Foundation
import Synchronization

/// A store of credentials by protection space. May be used from any thread.
///
/// Credentials live in memory. The app's shared storage keeps those whose persistence is `.permanent` in the user's
/// keychain too, and reads it when a space is first asked about. Storages of other sessions, ephemeral ones among them,
/// never touch it.
open class URLCredentialStorage: NSObject, @unchecked Sendable {
  // Sendable by hand: what changes is behind the lock.

  /// The credentials of loads that a subclass was given, and has not taken yet.
  let keeping = DispatchGroup()

  private struct Space {
    var byUser: [String: URLCredential] = [:]
    var defaultUser: String?
    /// Whether the default was chosen; otherwise that of the keychain counts.
    var isDefaultChosen = false
    /// The users that the keychain is known to have.
    var permanentUsers: Set<String> = []
    /// Users that were removed before the keychain could be read: what it still has of them does not count.
    var removedUsers: Set<String> = []

    var isEmpty: Bool { byUser.isEmpty && removedUsers.isEmpty }
  }

  private let spaces = Mutex<[URLProtectionSpace: Space]>([:])
  private let changes = Atomic<UInt64>(0)
  /// nil where nothing outlives the process.
  private let permanent: PermanentCredentials?
  /// Spaces whose permanent credentials were read.
  private let readSpaces = Mutex<Set<URLProtectionSpace>>([])
  /// Whether they were read of all spaces.
  private let areAllRead = Atomic(false)

  /// Grows with each change.
  var version: UInt64 { changes.load(ordering: .acquiring) }

  /// A store of its own, in memory: it ends with the object, and has no permanent credentials.
  public override init() { permanent = nil }

  init(_ permanent: PermanentCredentials) { self.permanent = permanent }

  /// The app's store. It keeps permanent credentials in the user's keychain, the others in memory.
  open class var shared: URLCredentialStorage { sharedStorage }

  private static let sharedStorage = URLCredentialStorage(PermanentCredentials())

  // MARK: By space

  /// The credentials of a space by user name; nil when there is none. The first call for a space waits for the keychain,
  /// and so do later ones while it can't be read, after pauses.
  open func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
    waitForPermanent(space)
    return spaces.withLock { $0[space].flatMap { $0.byUser.isEmpty ? nil : $0.byUser } }
  }

  /// All credentials by space and user name, those of the keychain included. The first call waits for the keychain.
  open var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
    waitForAllPermanent()
    return spaces.withLock { $0.mapValues(\.byUser).filter { !$0.value.isEmpty } }
  }

  /// Stores a credential in place of the one of the same user. The first one of a space becomes its default. One
  /// without a user name, or whose persistence is `.none`, is not stored.
  open func set(_ credential: URLCredential, for space: URLProtectionSpace) {
    store(credential, for: space)
  }

  /// As `remove(_:for:options:)` without options.
  open func remove(_ credential: URLCredential, for space: URLProtectionSpace) {
    remove(credential, for: space, options: nil)
  }

  /// Removes the credential of the same user, also the permanent one that a credential for the session has replaced. A
  /// synchronizable one is only removed when `options` has `NSURLCredentialStorageRemoveSynchronizableCredentials` with
  /// true.
  open func remove(_ credential: URLCredential, for space: URLProtectionSpace, options: [String: Any]? = nil) {
    guard let user = credential.user else { return }
    waitForPermanent(space)
    let option = options?[NSURLCredentialStorageRemoveSynchronizableCredentials]
    let removesSynchronizable = option as? Bool ?? (option as? NSNumber)?.boolValue ?? false
    let isUnread = permanent != nil && !readSpaces.withLock { $0.contains(space) }
    let (isRemoved, mayBePermanent) = spaces.withLock { spaces -> (Bool, Bool) in
      var stored = spaces[space] ?? Space()
      let present = stored.byUser[user]
      guard present?.persistence != .synchronizable || removesSynchronizable else { return (false, false) }
      stored.byUser[user] = nil
      if stored.defaultUser == user { (stored.defaultUser, stored.isDefaultChosen) = (nil, false) }
      let wasPermanent = stored.permanentUsers.remove(user) != nil
      if isUnread { stored.removedUsers.insert(user) }
      spaces[space] = stored.isEmpty ? nil : stored
      return (present != nil, wasPermanent || isUnread)
    }
    if mayBePermanent { permanent?.remove(user, for: space) }
    if isRemoved { changed() }
  }

  /// The credential that is used without asking; nil when none was chosen.
  open func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
    waitForPermanent(space)
    return spaces.withLock { spaces in
      spaces[space].flatMap { stored in stored.defaultUser.flatMap { stored.byUser[$0] } }
    }
  }

  /// Chooses the credential that is used without asking, and stores it.
  open func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
    store(credential, for: space, asDefault: true)
  }

  private func store(_ credential: URLCredential, for space: URLProtectionSpace, asDefault: Bool = false) {
    guard let user = credential.user, credential.persistence != .none else { return }
    let (isChanged, isToBeKept) = spaces.withLock { spaces -> (Bool, Bool) in
      var stored = spaces[space] ?? Space()
      let isNew = stored.byUser[user] != credential
      let formerDefault = stored.defaultUser
      let wasChosen = stored.isDefaultChosen && formerDefault == user
      if asDefault {
        (stored.defaultUser, stored.isDefaultChosen) = (user, true)
      } else if stored.byUser.isEmpty {
        stored.defaultUser = user
      }
      stored.byUser[user] = credential
      stored.removedUsers.remove(user)
      if credential.isPermanent { stored.permanentUsers.insert(user) }
      spaces[space] = stored
      return (isNew || stored.defaultUser != formerDefault, isNew || asDefault && !wasChosen)
    }
    if isToBeKept, credential.isPermanent { permanent?.keep(credential, for: space, isDefault: asDefault) }
    if isChanged { changed() }
  }

  // MARK: The keychain

  /// Reads the permanent credentials of a space, once. A keychain that can't be read is asked again later.
  private func readPermanent(_ space: URLProtectionSpace) async {
    guard let permanent, isUnread(space), let found = await permanent.credentials(for: space) else { return }
    take(found, for: space)
  }

  private func readAllPermanent() async {
    guard let permanent, !areAllRead.load(ordering: .acquiring), permanent.mayBeRead,
      let found = await permanent.allCredentials()
    else { return }
    for (space, credentials) in found { take(credentials, for: space) }
    areAllRead.store(true, ordering: .releasing)
  }

  private func take(_ found: PermanentCredentials.Found, for space: URLProtectionSpace) {
    guard readSpaces.withLock({ $0.insert(space).inserted }) else { return }
    spaces.withLock { spaces in
      var stored = spaces[space] ?? Space()
      for credential in found.credentials {
        guard let user = credential.user, !stored.removedUsers.contains(user) else { continue }
        stored.permanentUsers.insert(user)
        // A credential that this process has set since is newer.
        if stored.byUser[user] == nil { stored.byUser[user] = credential }
      }
      if !stored.isDefaultChosen, let user = found.defaultUser, stored.byUser[user] != nil {
        (stored.defaultUser, stored.isDefaultChosen) = (user, found.isDefaultChosen)
      }
      stored.removedUsers = []
      spaces[space] = stored.isEmpty ? nil : stored
    }
  }

  /// Whether a credential that a load was let in with is still there. Does not wait for the keychain.
  func holds(_ credential: URLCredential, for space: URLProtectionSpace) -> Bool {
    // Also of a subclass, whose own methods may block: only what this class holds changes `version`.
    spaces.withLock { $0[space]?.byUser.values.contains(credential) ?? false }
  }

  /// Whether the keychain is to be asked about a space: not for a while after it could not be read.
  func isUnread(_ space: URLProtectionSpace) -> Bool {
    guard let permanent, !readSpaces.withLock({ $0.contains(space) }) else { return false }
    return permanent.mayBeRead
  }

  func whenRead(_ space: URLProtectionSpace, _ action: @escaping @Sendable () -> Void) {
    guard isUnread(space) else { return action() }
    Task.detached(executorPreference: KeychainExecutor.shared) {
      await self.readPermanent(space)
      // The app's code may ask for another space, and wait for the keychain's queue.
      DispatchQueue.global().async(execute: action)
    }
  }

  /// As `readPermanent`, for callers that can't suspend. Each call to the keychain has a time limit of its own.
  private func waitForPermanent(_ space: URLProtectionSpace) {
    guard isUnread(space) else { return }
    wait { await $0.readPermanent(space) }
  }

  private func waitForAllPermanent() {
    guard permanent != nil, !areAllRead.load(ordering: .acquiring) else { return }
    wait { await $0.readAllPermanent() }
  }

  private func wait(for reading: @escaping @Sendable (URLCredentialStorage) async -> Void) {
    let isRead = DispatchSemaphore(value: 0)
    Task.detached(executorPreference: KeychainExecutor.shared) {
      await reading(self)
      isRead.signal()
    }
    isRead.wait()
  }

  /// Calls `action` once the keychain has every change so far.
  func whenWritten(_ action: @escaping @Sendable () -> Void) {
    if let permanent { permanent.whenWritten(action) } else { action() }
  }

  /// Forgets everything.
  package func removeAll() {
    let isChanged = spaces.withLock { spaces in
      defer { spaces.removeAll() }
      return !spaces.isEmpty
    }
    if isChanged { changed() }
  }

  private func changed() {
    changes.wrappingAdd(1, ordering: .acquiringAndReleasing)
    NotificationCenter.default.post(name: .NSURLCredentialStorageChanged, object: self)
  }

  /// A storage of its own that keeps permanent credentials in the user's keychain, and reads it.
  package static func withKeychain() -> URLCredentialStorage { URLCredentialStorage(PermanentCredentials()) }

  // MARK: By task
  // Loads call these: override them to decide task by task. An override runs on a thread of its own, where it may block; a
  // handler that it drops counts as nil.

  /// Calls `completionHandler`, on the calling thread unless the keychain must be asked, with the credentials of a space by user name.
  @preconcurrency
  open func getCredentials(
    for protectionSpace: URLProtectionSpace, task: URLSessionTask,
    completionHandler: @escaping @Sendable ([String: URLCredential]?) -> Void
  ) {
    whenRead(protectionSpace) { completionHandler(self.credentials(for: protectionSpace)) }
  }

  /// The credentials of a space by user name; nil when there is none.
  public func credentials(for protectionSpace: URLProtectionSpace, task: URLSessionTask) async -> [String:
    URLCredential]?
  {
    await PendingAnswer.wait(fallback: nil) { answer in
      // A subclass may block, which no thread of Swift's tasks may.
      DispatchQueue.global().async { self.getCredentials(for: protectionSpace, task: task) { answer.give($0) } }
    }
  }

  /// Stores a credential that a task was given. As `set(_:for:)`, whatever the task.
  open func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
    set(credential, for: protectionSpace)
  }

  /// Removes a credential that a task had no use for. As `remove(_:for:options:)`, whatever the task.
  open func remove(
    _ credential: URLCredential, for protectionSpace: URLProtectionSpace, options: [String: Any]? = nil,
    task: URLSessionTask
  ) {
    remove(credential, for: protectionSpace, options: options)
  }

  /// Calls `completionHandler`, on the calling thread unless the keychain must be asked, with the credential that is used without asking.
  @preconcurrency
  open func getDefaultCredential(
    for space: URLProtectionSpace, task: URLSessionTask, completionHandler: @escaping @Sendable (URLCredential?) -> Void
  ) {
    whenRead(space) { completionHandler(self.defaultCredential(for: space)) }
  }

  /// The credential that is used without asking; nil when none was chosen.
  public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
    await PendingAnswer.wait(fallback: nil) { answer in
      DispatchQueue.global().async { self.getDefaultCredential(for: space, task: task) { answer.give($0) } }
    }
  }

  /// Chooses the credential that is used without asking, for a task. As `setDefaultCredential(_:for:)`, whatever the
  /// task.
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
  /// Posted on the thread that changes a storage, after its credentials or its defaults have changed. The object is the
  /// storage. Apple's systems post it never; code for Linux relies on it.
  public static let NSURLCredentialStorageChanged = Notification.Name("NSURLCredentialStorageChangedNotification")
}
