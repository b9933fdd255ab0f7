import Foundation
import HTTPSemantics

/// One cookie. Immutable.
open class HTTPCookie: NSObject, @unchecked Sendable {
  /// Everything a cookie says about itself.
  package struct Contents: Sendable, Hashable {
    package var name: String
    package var value: String
    package var domain: String
    package var path: String
    package var version = 0
    package var expires: Date?
    package var isSessionOnly = true
    package var isSecure = false
    package var isHTTPOnly = false
    package var comment: String?
    package var commentURL: URL?
    package var ports: [Int]?
    package var sameSitePolicy: HTTPCookieStringPolicy?
    package var isSetByJavaScript = false
    /// Whether the cookie is for one top-level site alone (`Partitioned`).
    package var isPartitioned = false
    /// The part of the store that the cookie is in; nil for the unpartitioned one, and for a partitioned cookie that no
    /// store has yet.
    package var partition: String?

    package init(name: String, value: String, domain: String, path: String) {
      self.name = name
      self.value = value
      self.domain = domain
      self.path = path
    }
  }

  // Sendable by hand, because subclasses are allowed: one constant of a Sendable type.
  package let contents: Contents

  /// A cookie from its properties: name, value, path and one of domain and origin URL are required.
  /// - Returns: nil when one of them is missing, or a value is one that no cookie can have. Unknown keys are ignored.
  public init?(properties: [HTTPCookiePropertyKey: Any]) {
    guard let contents = Contents(properties: properties) else { return nil }
    self.contents = contents
  }

  package init(_ contents: Contents) { self.contents = contents }

  /// 0: as browsers and servers use cookies; 1: as RFC 2965 once wanted them.
  open var version: Int { contents.version }
  /// The name; empty for a cookie that a server has set without one, which is sent as its value alone.
  open var name: String { contents.name }
  /// The value, which may be a secret.
  open var value: String { contents.value }

  /// When the cookie ends; nil when it ends with the session.
  open var expiresDate: Date? { contents.expires }

  /// Whether the cookie ends with the session, whatever its date.
  open var isSessionOnly: Bool { contents.isSessionOnly }

  /// The host that gets the cookie or, with a leading dot, the domain whose every host gets it.
  open var domain: String { contents.domain }

  /// The path at and below which the cookie is sent.
  open var path: String { contents.path }

  /// Whether the cookie is only sent over TLS.
  open var isSecure: Bool { contents.isSecure }

  /// Whether the cookie is not for scripts.
  open var isHTTPOnly: Bool { contents.isHTTPOnly }
  /// The purpose of the cookie in a sentence; nil when none was given (RFC 2965 §3.2.2).
  open var comment: String? { contents.comment }
  /// A page about the purpose of the cookie; nil when none was given (RFC 2965 §3.2.2).
  open var commentURL: URL? { contents.commentURL }

  /// The ports to which the cookie is sent; nil: any.
  open var portList: [NSNumber]? { contents.ports?.map { NSNumber(value: $0) } }

  /// When the cookie goes along with requests made by other sites; nil: always.
  open var sameSitePolicy: HTTPCookieStringPolicy? { contents.sameSitePolicy }

  /// A dictionary that makes an equal cookie.
  open var properties: [HTTPCookiePropertyKey: Any]? { contents.properties }

  // MARK: Header fields

  /// The header fields that send `cookies`: `Cookie`, or none when there are no cookies.
  open class func requestHeaderFields(with cookies: [HTTPCookie]) -> [String: String] {
    CookieField.value(of: cookies).map { ["Cookie": $0] } ?? [:]
  }

  /// The cookies that a response sets, without those that a client must ignore. RFC 6265bis §5.6 and §5.7. A cookie for
  /// a domain that is not the server's own is among them: a store refuses it. A cookie without a name is left out, as on
  /// Apple's systems; loads store those too.
  ///
  /// - Parameters:
  ///   - headerFields: The response's header fields; all but Set-Cookie are ignored. Several cookies in one value
  ///     are separated by commas.
  ///   - URL: Where the response came from: gives domain and path when the cookie does not.
  open class func cookies(withResponseHeaderFields headerFields: [String: String], for URL: URL) -> [HTTPCookie] {
    let joined = headerFields.filter { asciiCaseInsensitiveEqual($0.key, "Set-Cookie") }.map(\.value)
    return cookies(setCookieFields: joined.flatMap(SetCookie.split), for: URL).filter { !$0.name.isEmpty }
  }

  /// The cookies of Set-Cookie fields that were not joined.
  package static func cookies(setCookieFields fields: [String], for url: URL, now: Date = Date()) -> [HTTPCookie] {
    guard let place = CookiePlace(url) else { return [] }
    return cookies(setCookieFields: fields, from: place, now: now)
  }

  static func cookies(setCookieFields fields: [String], from place: CookiePlace, now: Date) -> [HTTPCookie] {
    let seconds = Int64(now.timeIntervalSince1970.rounded(.down))
    return fields.compactMap { field in
      SetCookie.parse(field, now: seconds).flatMap { Contents($0, host: place.host, requestPath: place.path) }
        .map { HTTPCookie($0) }
    }
  }

  // MARK: Comparing

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? HTTPCookie else { return false }
    return self === other || contents == other.contents
  }

  open override var hash: Int { contents.hashValue }

  /// The cookie without its value, which may be a secret.
  open override var description: String {
    "<\(type(of: self)): \(name), domain \(domain), path \(path), "
      + "\(isSessionOnly ? "session only" : "expires \(expiresDate.map { "\($0)" } ?? "never")")"
      + "\(isSecure ? ", secure" : "")\(isHTTPOnly ? ", HTTP only" : "")>"
  }
}

extension HTTPCookie {
  /// Which cookies are stored.
  public enum AcceptPolicy: UInt, Sendable {
    /// All of them.
    case always = 0
    /// None. Those that are stored are still sent.
    case never = 1
    /// Those of the site that the user is visiting.
    case onlyFromMainDocumentDomain = 2
  }
}

extension CookieField {
  /// The value of the field that sends these cookies; nil for none.
  static func value(of cookies: [HTTPCookie]) -> String? {
    var field = CookieField()
    for cookie in cookies { field.add(name: cookie.name, value: cookie.value) }
    return field.value
  }
}
