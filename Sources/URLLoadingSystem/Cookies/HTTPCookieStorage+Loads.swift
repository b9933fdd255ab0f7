import Foundation
import HTTPSemantics

/// The parts of a store that loads use. Nothing here waits for the disk, asks the app or calls its code.
extension HTTPCookieStorage {
  /// Whether the cookies on the disk and the list of public suffixes are in memory. Otherwise `prepare` is to be awaited
  /// before the methods below are used.
  var isReady: Bool {
    SystemSuffixes.isRead && persistence?.isCurrent(unnoticed: HTTPCookieStorage.unnoticedTime) != false
  }

  /// Whether a request gets no cookie, for certain.
  var isKnownToBeEmpty: Bool {
    jar.isEmpty && persistence?.isCurrent(unnoticed: HTTPCookieStorage.unnoticedTime) != false
  }

  /// A load does not send what another process stored in the last millisecond, and saves two system calls.
  private static let unnoticedTime: UInt64 = 1_000_000

  private static let queue = DispatchQueue(label: "HTTPCookieStorage")
  /// Observers of changes run here. They may wait for loads, which the other queue must not.
  private static let changeQueue = DispatchQueue(label: "HTTPCookieStorage changes")

  /// Reads what is not in memory yet, on queues of its own.
  func prepare() async {
    await withCheckedContinuation { continuation in
      HTTPCookieStorage.queue.async {
        _ = SystemSuffixes.list
        guard let persistence = self.persistence else { return continuation.resume() }
        persistence.read { continuation.resume() }
      }
    }
  }

  /// As `prepare`, for callers that can't suspend. Not on an event loop.
  func waitForDisk() {
    guard let persistence, !persistence.isCurrent() else { return }
    persistence.readAndWait()
  }

  /// Calls `action` when every change that was made so far is on the disk, or could not be written.
  func whenWritten(_ action: @escaping @Sendable () -> Void) {
    guard let persistence else { return action() }
    persistence.write(then: action)
  }

  /// Writes what has changed.
  /// - Returns: whether it is on the disk.
  package func isWritten() async -> Bool {
    await withCheckedContinuation { continuation in whenWritten { continuation.resume() } }
    return jar.withLock { !$0.hasChanges }
  }

  /// The folders of the stores on this user's disk, by the app.
  package static var keptDirectories: [(app: String, directory: String)] { CookieFolders.all }

  func cookies(for request: CookieRequest) -> [HTTPCookie] {
    jar.withLock { $0.cookies(for: request, suffixes: SystemSuffixes.list, at: Date()) }
  }

  /// The value of the Cookie field; nil for none.
  func field(for request: CookieRequest) -> String? {
    guard !jar.isEmpty else { return nil }
    return CookieField.value(of: cookies(for: request))
  }

  /// Stores the cookies of a response, and has the change told elsewhere.
  /// - Parameter fields: The values of Set-Cookie.
  func store(_ fields: [String], from request: CookieRequest, under policy: HTTPCookie.AcceptPolicy) {
    let cookies = HTTPCookie.cookies(setCookieFields: fields, from: request.place, now: Date())
    guard store(cookies, from: request, under: policy) else { return }
    HTTPCookieStorage.changeQueue.async { self.postChange() }
  }

  /// Stores the cookies that `request` and `policy` admit.
  /// - Parameter request: nil where it is not known, so that only the policy counts.
  /// - Returns: whether anything changed.
  func store(
    _ cookies: [HTTPCookie], from request: CookieRequest?, under policy: HTTPCookie.AcceptPolicy
  ) -> Bool {
    guard !cookies.isEmpty, policy != .never else { return false }
    let suffixes = SystemSuffixes.list
    if let request, policy == .onlyFromMainDocumentDomain, let main = request.mainPlace,
      !CookieRules.isSameSite(request.place.host, main.host, suffixes: suffixes)
    {
      return false
    }
    let now = Date()
    let admission = request.map { CookieAdmission($0, suffixes: suffixes) }
    var isChanged = false
    let hasChanges = jar.withLock { jar in
      for cookie in cookies {
        guard let admission else {
          isChanged = jar.set(cookie, at: now) || isChanged
          continue
        }
        // RFC 6265bis §5.7 step 16.
        guard let admitted = admission.admit(cookie),
          admission.isSecure || admitted.contents.isSecure || !jar.hidesSecureCookie(admitted, at: now)
        else { continue }
        isChanged = jar.set(admitted, at: now) || isChanged
      }
      return jar.hasChanges
    }
    if hasChanges { persistence?.writeSoon() }
    return isChanged
  }
}
