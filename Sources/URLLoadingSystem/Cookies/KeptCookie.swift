import Foundation

/// A cookie as it is written to the disk, without what identifies it. Names are short, since there are many.
struct KeptCookie: Codable {
  private var value: String
  /// As the server wrote it: the identity has it in lower case.
  private var domain: String?
  private var expires: Double?
  private var version: Int?
  private var secure: Bool?
  private var httpOnly: Bool?
  private var sameSite: String?
  private var comment: String?
  private var commentURL: String?
  private var ports: [Int]?
  private var byScript: Bool?
  private var partitioned: Bool?

  init(_ contents: HTTPCookie.Contents) {
    value = contents.value
    domain = contents.domain == contents.domain.lowercased() ? nil : contents.domain
    expires = contents.expires?.timeIntervalSince1970
    version = contents.version == 0 ? nil : contents.version
    secure = contents.isSecure ? true : nil
    httpOnly = contents.isHTTPOnly ? true : nil
    sameSite = contents.sameSitePolicy?.rawValue
    comment = contents.comment
    commentURL = contents.commentURL?.absoluteString
    ports = contents.ports
    byScript = contents.isSetByJavaScript ? true : nil
    partitioned = contents.isPartitioned ? true : nil
  }

  func contents(_ identity: CookieIdentity) -> HTTPCookie.Contents {
    var contents = HTTPCookie.Contents(
      name: identity.name, value: value, domain: domain ?? identity.domain, path: identity.path)
    contents.partition = identity.partition
    contents.expires = expires.map { Date(timeIntervalSince1970: $0) }
    contents.isSessionOnly = expires == nil
    contents.version = version ?? 0
    contents.isSecure = secure ?? false
    contents.isHTTPOnly = httpOnly ?? false
    contents.sameSitePolicy = sameSite.map { HTTPCookieStringPolicy(rawValue: $0) }
    contents.comment = comment
    contents.commentURL = commentURL.flatMap { URL(string: $0) }
    contents.ports = ports
    contents.isSetByJavaScript = byScript ?? false
    contents.isPartitioned = partitioned ?? false
    return contents
  }
}
