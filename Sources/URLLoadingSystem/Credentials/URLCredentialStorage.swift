import Foundation
import Synchronization

/// A store of credentials by protection space. May be used from any thread.
///
/// Every storage keeps credentials in memory, until its object goes. `shared` alone also keeps credentials with the
/// persistence `.permanent` or `.synchronizable` in the user's keychain: it writes them there after they are set, and reads
/// the keychain when a protection space is first asked about. A storage made with `init()`, and that of an ephemeral session,
/// neither read nor write the keychain. Without a keychain permanent credentials end with the process.
///
/// No method throws. A keychain that can't be read counts as one without credentials, and is asked again after a pause.
/// The names and the rules are those of Apple's class; differences are named at each method.
open class URLCredentialStorage: NSObject, @unchecked Sendable {
  // Sendable by hand: what changes is behind the lock.

  /// Entered while a method of a subclass stores a credential with which a load was let in. A later question of a load waits
  /// until the group is empty, so that the answer can be that credential.
  let keeping = DispatchGroup()

  private struct Space {
    var byUser: [String: URLCredential] = [:]
    var defaultUser: String?
    /// Whether `setDefaultCredential` chose the default. The default that the keychain names replaces one that was not
    /// chosen.
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

  /// Creates an empty storage that keeps credentials in memory only, whatever their persistence is, and shares them with no
  /// other storage.
  public override init() { permanent = nil }

  init(_ permanent: PermanentCredentials) { self.permanent = permanent }

  /// The storage of the process, which sessions use unless their configuration names another one. It keeps permanent
  /// credentials in the user's keychain, and the others in memory.
  open class var shared: URLCredentialStorage { sharedStorage }

  private static let sharedStorage = URLCredentialStorage(PermanentCredentials())

  // MARK: By space

  /// Returns the credentials of a space by user name; nil when there is none.
  ///
  /// The first call for a space blocks its thread until the keychain has answered. While the keychain can't be read, calls
  /// return what is in memory; after a pause one of them asks the keychain again.
  open func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
    waitForPermanent(space)
    return spaces.withLock { $0[space].flatMap { $0.byUser.isEmpty ? nil : $0.byUser } }
  }

  /// All credentials by space and user name, those of the keychain included; empty when there are none. The first call
  /// blocks its thread until the keychain has answered.
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

  /// Returns the default credential of a space: the one that `setDefaultCredential(_:for:)` chose, else the one that was
  /// stored first; nil when there is none. Blocks as `credentials(for:)`.
  open func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
    waitForPermanent(space)
    return spaces.withLock { spaces in
      spaces[space].flatMap { stored in stored.defaultUser.flatMap { stored.byUser[$0] } }
    }
  }

  /// Stores a credential, as `set(_:for:)`, and makes it the default of its space.
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

  /// Calls `action` when every change made before this call has been written to the keychain, or could not be written: on
  /// the thread that writes, or on the calling thread when nothing is to be written.
  func whenWritten(_ action: @escaping @Sendable () -> Void) {
    if let permanent { permanent.whenWritten(action) } else { action() }
  }

  /// Removes all credentials and defaults from memory. The keychain stays as it is.
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

  /// Creates a storage that, as `shared` does, keeps permanent credentials in the user's keychain and reads them from there,
  /// and has its own credentials in memory.
  package static func withKeychain() -> URLCredentialStorage { URLCredentialStorage(PermanentCredentials()) }

  // MARK: By task
  // A subclass overrides these methods to answer differently for each task. Loads call `getDefaultCredential` and
  // `setDefaultCredential`, on a thread of a concurrent queue, where an override may block. An override that never calls its
  // completion handler, and releases it, answers nil.

  /// Gives the credentials of a space by user name to `completionHandler`; nil when there is none.
  ///
  /// The handler is called once: on the calling thread, before this method returns, when the keychain need not be read, and
  /// otherwise later on a global concurrent queue. `task` has no effect unless a subclass overrides the method.
  @preconcurrency
  open func getCredentials(
    for protectionSpace: URLProtectionSpace, task: URLSessionTask,
    completionHandler: @escaping @Sendable ([String: URLCredential]?) -> Void
  ) {
    whenRead(protectionSpace) { completionHandler(self.credentials(for: protectionSpace)) }
  }

  /// Returns the credentials of a space by user name, as `getCredentials(for:task:completionHandler:)`; nil when there is none.
  public func credentials(for protectionSpace: URLProtectionSpace, task: URLSessionTask) async -> [String:
    URLCredential]?
  {
    await PendingAnswer.wait(fallback: nil) { answer in
      // A subclass may block, which no thread of Swift's tasks may.
      DispatchQueue.global().async { self.getCredentials(for: protectionSpace, task: task) { answer.give($0) } }
    }
  }

  /// Stores a credential for a space, as `set(_:for:)`. `task` has no effect unless a subclass overrides the method.
  open func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
    set(credential, for: protectionSpace)
  }

  /// Removes a credential from a space, as `remove(_:for:options:)`. `task` has no effect unless a subclass overrides the
  /// method.
  open func remove(
    _ credential: URLCredential, for protectionSpace: URLProtectionSpace, options: [String: Any]? = nil,
    task: URLSessionTask
  ) {
    remove(credential, for: protectionSpace, options: options)
  }

  /// Gives the default credential of a space, with which a load answers a challenge before it asks its delegate, to
  /// `completionHandler`; nil when there is none.
  ///
  /// The handler is called once: on the calling thread, before this method returns, when the keychain need not be read, and
  /// otherwise later on a global concurrent queue. `task` has no effect unless a subclass overrides the method.
  @preconcurrency
  open func getDefaultCredential(
    for space: URLProtectionSpace, task: URLSessionTask, completionHandler: @escaping @Sendable (URLCredential?) -> Void
  ) {
    whenRead(space) { completionHandler(self.defaultCredential(for: space)) }
  }

  /// Returns the default credential of a space, as `getDefaultCredential(for:task:completionHandler:)`; nil when there is none.
  public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
    await PendingAnswer.wait(fallback: nil) { answer in
      DispatchQueue.global().async { self.getDefaultCredential(for: space, task: task) { answer.give($0) } }
    }
  }

  /// Stores a credential and makes it the default of a space, as `setDefaultCredential(_:for:)`. A load calls this when a
  /// server has let it in with a new credential. `task` has no effect unless a subclass overrides the method.
  open func setDefaultCredential(
    _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
  ) {
    setDefaultCredential(credential, for: protectionSpace)
  }
}

/// A key of the options of `URLCredentialStorage.remove(_:for:options:)`, whose value is a Boolean. With true credentials
/// with the persistence `.synchronizable` are removed, too; without the key they stay.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
  "NSURLCredentialStorageRemoveSynchronizableCredentials"

extension Notification.Name {
  /// Posted after the credentials or a default of a storage have changed, on the thread that made the change. The object is
  /// the storage; there is no user info. Apple's documentation describes the notification, and Apple's systems do not post
  /// it; programs written for Linux rely on it.
  public static let NSURLCredentialStorageChanged = Notification.Name("NSURLCredentialStorageChangedNotification")
}
