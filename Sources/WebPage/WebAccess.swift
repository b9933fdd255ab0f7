/// Decides which requests the server of the web page answers: those of a browser that was opened with the printed link.
///
/// The link's secret is good for one sign-in. It is exchanged for a cookie with another secret, so that a link which
/// another program of the machine sees later (in a list of processes, in a history) opens nothing.
///
/// Browsers send a cookie to every port of a host. So everything is below a path that is a third secret, and the cookie is
/// for that path: a server of another user on another port of this machine can't name the path, and is not sent the cookie.
package struct WebAccess: Sendable {
  /// The parts of a request that tell who sends it. nil: the request has no such field.
  package struct Request: Sendable {
    package var isGet = true
    package var path = "/"
    /// The parameter `token` of the URL.
    package var token: String?
    package var host: String?
    package var origin: String?
    package var site: String?
    package var cookies: String?
    package var authorization: String?
    package var contentType: String?

    package init() {}
  }

  package enum Verdict: Sendable, Equatable {
    /// The path is the one below the secret path. With its cookie the page sends the request; otherwise it is a program
    /// that reads the metrics.
    case allowed(path: String, hasCookie: Bool)
    /// The browser gets this `Set-Cookie` and goes on to the page.
    case signedIn(cookie: String, page: String)
    case refused(status: Int, sentence: String)
  }

  /// The secrets of those who may open the page, each made at random at every start.
  package struct Secrets: Sendable {
    /// Of the printed link.
    package var link: String
    /// The first component of every path.
    package var path: String
    /// The value of the cookie.
    package var session: String

    package init(link: String, path: String, session: String) {
      self.link = link
      self.path = path
      self.session = session
    }
  }

  private let port: Int
  private var link: String?
  private let session: String
  private let folder: String
  private let metricsToken: String?

  /// - Parameters:
  ///   - port: On which the server listens.
  ///   - metricsToken: The secret with which a program reads `/metrics`; nil: the page's cookie alone opens it.
  package init(port: Int, secrets: Secrets, metricsToken: String?) {
    self.port = port
    link = secrets.link
    session = secrets.session
    folder = "/\(secrets.path)/"
    self.metricsToken = metricsToken
  }

  /// A server of ours on another port may have set one of the same path, if never of the same value.
  private var cookieName: String { "urlsession-\(port)" }

  package mutating func verdict(on request: Request) -> Verdict {
    // A name that another server resolves to a loopback address (DNS rebinding) is none of these.
    guard let host = request.host?.lowercased(),
      ["127.0.0.1", "[::1]", "localhost"].contains(where: { "\($0):\(port)" == host })
    else { return .refused(status: 421, sentence: "This server is not the one that the request names.") }
    if request.isGet, request.path == "/metrics", let metricsToken, let given = request.authorization,
      WebAccess.areEqual(given, "Bearer \(metricsToken)")
    {
      return .allowed(path: "/metrics", hasCookie: false)
    }
    if let token = request.token, request.isGet, request.path == "/" { return signIn(token) }
    guard let path = pathBelowFolder(request.path), isSignedIn(request) else {
      return .refused(status: 401, sentence: "Open the link that `urlsession web` printed.")
    }
    if let refusal = request.isGet ? refusalOfReading(request) : refusalOfAction(request, host: host) { return refusal }
    return .allowed(path: path, hasCookie: true)
  }

  private mutating func signIn(_ token: String) -> Verdict {
    guard let link, WebAccess.areEqual(token, link) else {
      return .refused(
        status: 401,
        sentence: "This link was used already or is not this server's. The browser that used it has the page; for "
          + "another, start `urlsession web` again.")
    }
    self.link = nil
    return .signedIn(cookie: "\(cookieName)=\(session); Path=\(folder); HttpOnly; SameSite=Strict", page: folder)
  }

  /// nil when the request is for another path.
  private func pathBelowFolder(_ path: String) -> String? {
    let bytes = path.utf8
    guard bytes.count >= folder.utf8.count,
      WebAccess.areEqual(String(decoding: bytes.prefix(folder.utf8.count), as: UTF8.self), folder)
    else { return nil }
    return "/" + String(decoding: bytes.dropFirst(folder.utf8.count), as: UTF8.self)
  }

  private func isSignedIn(_ request: Request) -> Bool {
    WebAccess.values(of: cookieName, in: request.cookies ?? "").contains { WebAccess.areEqual($0, session) }
  }

  /// The user opens the page, or the page itself reads. Another page of this machine is of the same site.
  private func refusalOfReading(_ request: Request) -> Verdict? {
    ["same-origin", "none"].contains(request.site ?? "none") ? nil : WebAccess.foreign
  }

  /// Only the page itself acts: a form or a script of another site names its own origin, and can't send JSON unasked.
  private func refusalOfAction(_ request: Request, host: String) -> Verdict? {
    guard request.origin?.lowercased() == "http://\(host)", (request.site ?? "same-origin") == "same-origin" else {
      return WebAccess.foreign
    }
    guard request.contentType == "application/json" else {
      return .refused(status: 415, sentence: "The request is not JSON.")
    }
    return nil
  }

  private static let foreign = Verdict.refused(status: 403, sentence: "Another page sent this request.")

  static func values(of name: String, in cookies: String) -> [String] {
    cookies.split(separator: ";").compactMap { pair in
      let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == name else { return nil }
      return String(parts[1])
    }
  }

  /// Takes the same time wherever the two differ.
  static func areEqual(_ one: String, _ other: String) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
