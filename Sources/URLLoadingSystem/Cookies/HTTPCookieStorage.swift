import Foundation
import HTTPSemantics
import Synchronization

/// A store of cookies. May be used from any thread.
///
/// The app's shared store, and those of app groups, are on the disk: below `$XDG_DATA_HOME` (`~/.local/share`), for this
/// user alone. All processes of the app have the same cookies. Cookies of a session never get there, and end with the
/// process. The first use waits for the disk; changes are written a moment later, together. All other stores live in
/// memory.
///
/// Cookies of a domain are checked against the machine's list of public suffixes (libpsl). Where that is not installed,
/// a cookie is kept for the host alone that has set it.
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed: what changes is behind locks.
  let jar = LockedCookieJar()
  private let acceptPolicy = Atomic<UInt>(HTTPCookie.AcceptPolicy.always.rawValue)
  /// nil where nothing outlives the process.
  let persistence: CookiePersistence?

  /// A store of its own, in memory: it ends with the object.
  public override init() {
    persistence = nil
    super.init()
  }

  /// A store on the disk.
  /// - Parameter directory: The folder of its files. It is made when there is something to write.
  package init(directory: String) {
    let persistence = CookiePersistence(directory: directory, jar: jar)
    self.persistence = persistence
    super.init()
    persistence.whenOthersChange { [weak self] in self?.postChange() }
  }

  /// The app's store, on disk below `$XDG_DATA_HOME`, shared by the app's processes.
  open class var shared: HTTPCookieStorage { sharedStorage }

  private static let sharedStorage = HTTPCookieStorage(directory: CookieFolders.ofApp)
  private static let groupStorages = Mutex<[String: HTTPCookieStorage]>([:])

  /// The store that an app shares with others of an app group: one object for one identifier.
  ///
  /// Every app of this user that names the group has its cookies: Linux has no entitlements to check.
  open class func sharedCookieStorage(forGroupContainerIdentifier identifier: String) -> HTTPCookieStorage {
    groupStorages.withLock { storages in
      if let storage = storages[identifier] { return storage }
      let storage = HTTPCookieStorage(directory: CookieFolders.ofGroup(identifier))
      storages[identifier] = storage
      return storage
    }
  }

  // MARK: Reading

  /// Every cookie, oldest first.
  open var cookies: [HTTPCookie]? {
    waitForDisk()
    return jar.withLock { $0.all(at: Date()) }
  }

  /// The cookies that a request for `URL` would carry, in the order of RFC 6265bis §5.8.3. Secure ones only for
  /// `https` and `wss`.
  open func cookies(for URL: URL) -> [HTTPCookie]? {
    guard let request = CookieRequest(URL, mainDocumentURL: nil) else { return [] }
    waitForDisk()
    return cookies(for: request)
  }

  /// Every cookie in the order of the descriptors.
  open func sortedCookies(using sortOrder: [NSSortDescriptor]) -> [HTTPCookie] {
    (cookies ?? []).sorted { left, right in
      for descriptor in sortOrder {
        switch descriptor.compare(left, to: right) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return false
    }
  }

  // MARK: Changing

  /// Stores a cookie in place of the one with its name, domain and path, unless the accept policy is `.never`. One
  /// that has expired removes that cookie.
  open func setCookie(_ cookie: HTTPCookie) {
    guard cookieAcceptPolicy != .never else { return }
    change { $0.set(cookie, at: Date()) }
  }

  /// Removes the cookie with this one's name, domain and path.
  open func deleteCookie(_ cookie: HTTPCookie) { change { $0.remove(CookieIdentity(cookie)) } }

  /// Removes the cookies that were stored at `date` or later.
  open func removeCookies(since date: Date) { change { $0.remove(since: date) } }

  /// Stores the cookies of a response from `URL`, as far as the accept policy and the URL allow it.
  ///
  /// - Parameters:
  ///   - cookies: The cookies, as `HTTPCookie.cookies(withResponseHeaderFields:for:)` reads them.
  ///   - URL: Where the cookies came from. nil: not checked.
  ///   - mainDocumentURL: The top-level document. With `.onlyFromMainDocumentDomain` the cookies of other sites are
  ///     refused; nil: they count as the site's own.
  open func setCookies(_ cookies: [HTTPCookie], for URL: URL?, mainDocumentURL: URL?) {
    guard !cookies.isEmpty else { return }
    let task = HTTPCookieStorage.taskBeingServed
    let request: CookieRequest?
    if let URL {
      // A URL without a host has no cookies.
      guard let made = task?.request(for: URL) ?? CookieRequest(URL, mainDocumentURL: mainDocumentURL) else { return }
      request = made
    } else {
      request = nil
    }
    waitForDisk()
    if store(cookies, from: request, under: task?.policy ?? cookieAcceptPolicy) { postChange() }
  }

  // MARK: For tasks

  /// Stores the cookies of a task's response, judged by the task's current request and its session's policy. Loads
  /// call this one where a subclass is in use: override it to decide task by task.
  open func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
    let request = task.currentRequest
    HTTPCookieStorage.$taskBeingServed.withValue(CookieTask(task)) {
      setCookies(cookies, for: request?.url, mainDocumentURL: request?.mainDocumentURL)
    }
  }

  /// Finds the cookies for a task's current request and calls `completionHandler` with them, on the calling thread.
  @preconcurrency
  open func getCookiesFor(_ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void) {
    guard let request = CookieTask(task).request else { return completionHandler(nil) }
    waitForDisk()
    completionHandler(cookies(for: request))
  }

  /// The cookies for a task's current request.
  public func cookies(for task: URLSessionTask) async -> [HTTPCookie]? {
    await PendingAnswer.wait(fallback: nil) { answer in
      // It may wait for the disk, which no thread of Swift's tasks may.
      DispatchQueue.global().async { self.getCookiesFor(task) { answer.give($0) } }
    }
  }

  @TaskLocal private static var taskBeingServed: CookieTask?

  // MARK: Policy

  /// Which cookies are stored. Default `.always`. A session's configuration has a policy of its own, which counts for
  /// its loads.
  open var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
    get { HTTPCookie.AcceptPolicy(rawValue: acceptPolicy.load(ordering: .relaxed)) ?? .always }
    set { acceptPolicy.store(newValue.rawValue, ordering: .relaxed) }
  }

  open override var description: String {
    "<NSHTTPCookieStorage cookies count:\(jar.withLock { $0.all(at: Date()).count })>"
  }

  private func change(_ body: (inout CookieJar) -> Bool) {
    waitForDisk()
    var isChanged = false
    let hasChanges = jar.withLock { jar in
      isChanged = body(&jar)
      return jar.hasChanges
    }
    if hasChanges { persistence?.writeSoon() }
    if isChanged { postChange() }
  }

  func postChange() {
    NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
    // The toolchain's Foundation does not turn one into the other, so each kind of observer gets its own.
    NotificationCenter.default.post(CookiesChangedMessage(), subject: self)
  }
}

extension Notification.Name {
  /// Posted by an `HTTPCookieStorage` when its set of cookies has changed: on the thread that made the change; on a queue
  /// of the store's own when a load has changed it, or another process of the app.
  public static let NSHTTPCookieManagerCookiesChanged = Notification.Name(
    "NSHTTPCookieManagerCookiesChangedNotification")

  /// Never posted, as on Apple's systems.
  public static let NSHTTPCookieManagerAcceptPolicyChanged = Notification.Name(
    "NSHTTPCookieManagerAcceptPolicyChangedNotification")
}
