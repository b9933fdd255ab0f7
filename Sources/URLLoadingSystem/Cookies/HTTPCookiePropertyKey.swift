import Foundation

/// A key of the dictionary that describes an `HTTPCookie`.
public struct HTTPCookiePropertyKey: RawRepresentable, Hashable, Sendable {
  public let rawValue: String

  /// A key with the given text.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  public init(rawValue: String) { self.rawValue = rawValue }

  /// The name, a `String`. Required; may be empty for a cookie that has a value.
  public static let name = HTTPCookiePropertyKey(rawValue: "Name")
  /// The value, a `String`. Required.
  public static let value = HTTPCookiePropertyKey(rawValue: "Value")
  /// The `URL` that set the cookie, or a string of it. Required when there is no domain.
  public static let originURL = HTTPCookiePropertyKey(rawValue: "OriginURL")
  /// The domain, a `String`: with a leading dot for subdomains too. Required when there is no origin URL.
  public static let domain = HTTPCookiePropertyKey(rawValue: "Domain")
  /// The path, a `String`. Required.
  public static let path = HTTPCookiePropertyKey(rawValue: "Path")
  /// "0", the default, or "1".
  public static let version = HTTPCookiePropertyKey(rawValue: "Version")
  /// Any value: the cookie is only sent over TLS.
  public static let secure = HTTPCookiePropertyKey(rawValue: "Secure")
  /// The end, a `Date` or a string of one. For version 0.
  public static let expires = HTTPCookiePropertyKey(rawValue: "Expires")
  /// How long the cookie is kept, in whole seconds as a `String`. For version 1.
  public static let maximumAge = HTTPCookiePropertyKey(rawValue: "Max-Age")
  /// "TRUE" ends the cookie with the session, "FALSE" does not. Default "FALSE", and "TRUE" for version 1 without
  /// a maximum age.
  public static let discard = HTTPCookiePropertyKey(rawValue: "Discard")
  /// The purpose of the cookie, a `String`. For version 1; kept for version 0.
  public static let comment = HTTPCookiePropertyKey(rawValue: "Comment")
  /// The URL of a page about the cookie's purpose, a `URL` or a string of it. For version 1; kept for version 0.
  public static let commentURL = HTTPCookiePropertyKey(rawValue: "CommentURL")
  /// Ports to which the cookie is sent, separated by commas, a `String`. For version 1; of version 0 the first is kept.
  /// Default: any.
  public static let port = HTTPCookiePropertyKey(rawValue: "Port")
  /// Whether the cookie goes along with requests made by other sites, an `HTTPCookieStringPolicy`. Default: it does.
  public static let sameSitePolicy = HTTPCookiePropertyKey(rawValue: "SameSite")
  /// Whether a script set the cookie, an `NSNumber`.
  public static let setByJavaScript = HTTPCookiePropertyKey(rawValue: "SetInJavaScript")

  /// Any value: scripts can't read the cookie. Apple's systems use this key without naming it.
  static let httpOnly = HTTPCookiePropertyKey(rawValue: "HttpOnly")
  /// Any value: the cookie is for one top-level site alone.
  static let partitioned = HTTPCookiePropertyKey(rawValue: "Partitioned")
  /// The part of the store that the cookie is in, a `String`.
  static let partition = HTTPCookiePropertyKey(rawValue: "StoragePartition")
}

/// When a cookie goes along with requests made by other sites.
public struct HTTPCookieStringPolicy: RawRepresentable, Hashable, Sendable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Along with requests of the cookie's own site, and when the user follows a link to it.
  public static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
  /// Along with requests of the cookie's own site only.
  public static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}
