/// How redirects are followed: RFC 9110 §15.4, and the older practice that it allows.
package enum RedirectRules {
  /// So many redirects of one task are followed; the next one fails it.
  package static let limit = 16

  /// - Parameters:
  ///   - status: of the response.
  ///   - method: of the request that was answered.
  ///   - hasBody: whether that request had a body.
  ///   - url: the absolute URL of that request.
  ///   - locations: the values of the response's Location fields.
  ///   - redirectCount: how many redirects the task has followed before.
  package static func decide(
    status: Int, method: String, hasBody: Bool, url: String, locations: [String], redirectCount: Int
  ) -> RedirectDecision {
    // 300 offers a choice and 304 speaks of the cache (RFC 9110 §15.4). 305 and 306 are withdrawn; Apple's systems take
    // them for 307 where they name a place, and so do we.
    guard [301, 302, 303, 305, 306, 307, 308].contains(status) else { return .notARedirect }
    // Without a place, 308 is what resumable uploads of another kind answered before it had its meaning.
    if locations.isEmpty, [305, 306, 308].contains(status) { return .notARedirect }
    // Location fields that disagree are the mark of a header injected somewhere on the way: there is no one target.
    guard let location = locations.first?.trimmingHTTPWhitespace(), !location.isEmpty,
      locations.dropFirst().allSatisfy({ $0.trimmingHTTPWhitespace() == location })
    else { return .missingLocation }
    guard redirectCount < limit else { return .tooMany }

    let current = URIReference(url)
    var target = URIReference(location).percentEncodingIllegalCharacters.resolved(against: current)
    // RFC 9110 §10.2.2: a fragment is inherited, unless the target has its own.
    if target.fragment == nil { target.fragment = current.fragment }
    let targetOrigin = HTTPOrigin(target)
    let staysAtSocket = isSameSocket(current, target)

    let newMethod = self.method(afterStatus: status, method: method)
    let keepsBody = hasBody && newMethod == method && status != 303
    let changesOrigin = !staysAtSocket && (targetOrigin == nil || HTTPOrigin(current) != targetOrigin)
    var removed: [String] = []
    if !keepsBody && (hasBody || newMethod != method) { removed += bodyFields }
    if changesOrigin { removed += originFields }
    // RFC 9110 §10.1.3: a page read over https is not named to a server reached over http.
    if current.scheme?.asciiLowercased() == "https", targetOrigin?.scheme != "https" { removed.append("Referer") }
    let redirect = Redirect(
      method: newMethod, keepsBody: keepsBody, target: target.text, changesOrigin: changesOrigin,
      removedFields: removed)
    return targetOrigin == nil && !staysAtSocket ? .unsupportedTarget(redirect) : .follow(redirect)
  }

  /// A server behind a Unix-domain socket leads to places of its own. No server leads to the socket of another one.
  private static func isSameSocket(_ current: URIReference, _ target: URIReference) -> Bool {
    guard let socket = current.authority, !socket.isEmpty, target.authority == socket else { return false }
    return [current, target].allSatisfy { $0.scheme?.asciiLowercased() == "http+unix" }
  }

  /// RFC 9110 §15.4.2–§15.4.4, §15.4.8 and §15.4.9. Methods are compared as they are: they are case-sensitive.
  private static func method(afterStatus status: Int, method: String) -> String {
    switch status {
    // The notes in §15.4.2 and §15.4.3: every user agent turns POST into GET, and leaves other methods alone.
    case 301, 302: method == "POST" ? "GET" : method
    // §15.4.4: the answer is to be retrieved. As on Apple's systems by GET, also where HEAD was sent.
    case 303: "GET"
    default: method
    }
  }

  /// RFC 9110 §15.4: fields that describe a body go with it. `Digest` is the forerunner of the RFC 9530 fields.
  private static let bodyFields = [
    "Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-Type", "Content-Digest",
    "Digest", "Expect", "Last-Modified", "Repr-Digest", "Trailer", "Transfer-Encoding",
  ]

  /// RFC 9110 §15.4: fields that were meant for the old origin alone. Host is among them: it names that origin.
  /// Whether a field of that name is for one origin alone, in any spelling.
  package static func isOfOrigin(_ name: String) -> Bool {
    originFields.contains { asciiCaseInsensitiveEqual($0, name) }
  }

  private static let originFields = [
    "Authorization", "Cookie", "Cookie2", "Host", "Proxy-Authenticate", "Proxy-Authorization", "WWW-Authenticate",
  ]
}
