import Foundation
import HTTPSemantics
import Synchronization

/// A store of cookies. May be used from any thread.
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
  private struct State {
    var jar = CookieJar()
    var acceptPolicy = HTTPCookie.AcceptPolicy.always
  }

  private let state = Mutex(State())

  /// A store of its own, in memory.
  public override init() {}

  /// The app's store.
  open class var shared: HTTPCookieStorage { sharedStorage }

  private static let sharedStorage = HTTPCookieStorage()
  private static let groupStorages = Mutex<[String: HTTPCookieStorage]>([:])

  /// The store that an app shares with others of an app group: one object for one identifier.
  open class func sharedCookieStorage(forGroupContainerIdentifier identifier: String) -> HTTPCookieStorage {
    groupStorages.withLock { storages in
      if let storage = storages[identifier] { return storage }
      let storage = HTTPCookieStorage()
      storages[identifier] = storage
      return storage
    }
  }

  // MARK: Reading

  /// Every cookie, oldest first.
  open var cookies: [HTTPCookie]? { state.withLock { $0.jar.all(at: Date()) } }

  /// The cookies that a request for `URL` would carry, in the order of RFC 6265bis §5.8.3. Secure ones only for
  /// `https` and `wss`.
  open func cookies(for URL: URL) -> [HTTPCookie]? {
    guard let host = URL.host?.lowercased(), !host.isEmpty else { return [] }
    let isSecure = HTTPCookieStorage.isSecure(URL)
    let path = URL.path
    return state.withLock {
      $0.jar.cookies(
        host: host, path: path.isEmpty ? "/" : path, port: URL.port ?? (isSecure ? 443 : 80), isSecure: isSecure,
        at: Date())
    }
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
    let changed = state.withLock { $0.acceptPolicy != .never && $0.jar.set(cookie, at: Date()) }
    if changed { postChange() }
  }

  /// Removes the cookie with this one's name, domain and path.
  open func deleteCookie(_ cookie: HTTPCookie) {
    if state.withLock({ $0.jar.remove(cookie) }) { postChange() }
  }

  /// Removes the cookies that were stored at `date` or later.
  open func removeCookies(since date: Date) {
    if state.withLock({ $0.jar.remove(since: date) }) { postChange() }
  }

  /// Stores the cookies of a response from `URL`, as far as the accept policy and the URL allow it.
  ///
  /// - Parameters:
  ///   - URL: Where the cookies came from. nil: not checked.
  ///   - mainDocumentURL: The top-level document. With `.onlyFromMainDocumentDomain` the cookies of other sites are
  ///     refused; nil: they count as the site's own.
  open func setCookies(_ cookies: [HTTPCookie], for URL: URL?, mainDocumentURL: URL?) {
    store(cookies, for: URL, mainDocumentURL: mainDocumentURL, policy: cookieAcceptPolicy)
  }

  /// As `setCookies(_:for:mainDocumentURL:)`, under a session configuration's policy instead of the store's own.
  package func store(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?, policy: HTTPCookie.AcceptPolicy) {
    guard !cookies.isEmpty, HTTPCookieStorage.accepts(url, mainDocumentURL: mainDocumentURL, under: policy) else {
      return
    }
    let now = Date()
    let isSecure = url.map(HTTPCookieStorage.isSecure) ?? true
    let host = url.map { $0.host?.lowercased() ?? "" }
    let changed = state.withLock { state in
      cookies.reduce(false) { changed, cookie in
        // RFC 6265bis §5.7 steps 6, 8 and 17: for its own domain only, and secure cookies are a secure place's affair.
        guard host.map({ HTTPCookieStorage.maySet(cookie, from: $0) }) ?? true else { return changed }
        guard isSecure || (!cookie.isSecure && !state.jar.hidesSecureCookie(cookie)) else { return changed }
        return state.jar.set(cookie, at: now) || changed
      }
    }
    if changed { postChange() }
  }

  // MARK: For tasks

  /// Stores the cookies of a task's response, judged by the task's current request. Loads call this one: override it
  /// to decide task by task.
  open func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
    let request = task.currentRequest
    setCookies(cookies, for: request?.url, mainDocumentURL: request?.mainDocumentURL)
  }

  /// Finds the cookies for a task's current request and calls `completionHandler` with them, on the calling thread.
  @preconcurrency
  open func getCookiesFor(_ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void) {
    completionHandler(task.currentRequest?.url.flatMap { cookies(for: $0) })
  }

  /// The cookies for a task's current request.
  public func cookies(for task: URLSessionTask) async -> [HTTPCookie]? {
    await withCheckedContinuation { continuation in
      getCookiesFor(task) { continuation.resume(returning: $0) }
    }
  }

  // MARK: Policy

  /// Which cookies are stored. Default `.always`. A session's configuration has a policy of its own.
  open var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
    get { state.withLock { $0.acceptPolicy } }
    set { state.withLock { $0.acceptPolicy = newValue } }
  }

  private static func accepts(_ url: URL?, mainDocumentURL: URL?, under policy: HTTPCookie.AcceptPolicy) -> Bool {
    switch policy {
    case .always: return true
    case .never: return false
    case .onlyFromMainDocumentDomain:
      guard let main = mainDocumentURL?.host?.lowercased(), let host = url?.host?.lowercased() else { return true }
      return CookieRules.isSameSite(host, main)
    }
  }

  private static func maySet(_ cookie: HTTPCookie, from host: String) -> Bool {
    let domain = cookie.domain.lowercased()
    guard domain.hasPrefix(".") else { return domain == host }
    return CookieRules.scope(domainAttribute: String(domain.dropFirst()), host: host) != nil
  }

  private static func isSecure(_ url: URL) -> Bool {
    let scheme = url.scheme?.lowercased()
    return scheme == "https" || scheme == "wss"
  }

  private func postChange() {
    NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
    // The toolchain's Foundation does not turn one into the other, so each kind of observer gets its own.
    NotificationCenter.default.post(CookiesChangedMessage(), subject: self)
  }
}

extension Notification.Name {
  /// Posted by an `HTTPCookieStorage`, on the thread that made the change, when its set of cookies has changed.
  public static let NSHTTPCookieManagerCookiesChanged = Notification.Name(
    "NSHTTPCookieManagerCookiesChangedNotification")

  /// Never posted, as on Apple's systems.
  public static let NSHTTPCookieManagerAcceptPolicyChanged = Notification.Name(
    "NSHTTPCookieManagerAcceptPolicyChangedNotification")
}
