import Foundation
import HTTPSemantics

extension HTTPCookie.Contents {
  /// The cookie that a response from `host` sets; nil when a client must ignore it. Whether the domain is one that
  /// `host` may set cookies for is for the store to judge.
  init?(_ cookie: SetCookie, host: String, requestPath: String) {
    let isKept = CookieRules.keepsPrefixPromise(
      name: cookie.name, value: cookie.value, isSecure: cookie.isSecure, hasDomain: cookie.domain != nil,
      path: cookie.path)
    // RFC 6265bis §5.7 step 20; the attribute Partitioned has the same condition.
    guard isKept, cookie.isSecure || (cookie.sameSite != SetCookie.SameSite.none && !cookie.isPartitioned) else {
      return nil
    }
    self.init(
      name: cookie.name, value: cookie.value, domain: cookie.domain.map { Self.domain($0, host: host) } ?? host,
      path: cookie.path ?? CookieRules.defaultPath(of: requestPath))
    expires = cookie.expires.map { Date(timeIntervalSince1970: TimeInterval($0)) }
    isSessionOnly = expires == nil
    isSecure = cookie.isSecure
    isHTTPOnly = cookie.isHTTPOnly
    switch cookie.sameSite {
    case .lax: sameSitePolicy = .sameSiteLax
    case .strict: sameSitePolicy = .sameSiteStrict
    case nil, SetCookie.SameSite.none?: sameSitePolicy = nil
    }
    isPartitioned = cookie.isPartitioned
    comment = cookie.comment
    commentURL = cookie.commentURL.flatMap { URL(string: $0) }
  }

  /// The Domain attribute as a cookie has it: with a dot in front where hosts below it get the cookie. None are below an
  /// address, nor below a host whose name has one label.
  private static func domain(_ attribute: String, host: String) -> String {
    // As a URL writes an IPv6 address.
    if attribute == "[\(host)]" { return host }
    if CookieRules.isAddress(attribute) || (attribute == host && !host.contains(".")) { return attribute }
    return "." + attribute
  }

  init?(properties: [HTTPCookiePropertyKey: Any]) {
    guard let name = Self.text(properties[.name]), let value = Self.text(properties[.value]),
      let path = Self.text(properties[.path]), Self.isName(name, of: value), Self.isText(value), Self.isText(path),
      let domain = Self.domain(in: properties), Self.isText(domain)
    else { return nil }
    self.init(name: name, value: value, domain: domain, path: path.isEmpty ? "/" : path)
    version = Self.integer(properties[.version]) == 1 ? 1 : 0
    let ports = Self.text(properties[.port]).flatMap(Self.ports)
    if version == 1 {
      let age = Self.integer(properties[.maximumAge])
      expires = age.map { Date(timeIntervalSinceNow: TimeInterval($0)) }
      self.ports = ports
    } else {
      expires = properties[.expires].flatMap(Self.date)
      // As on Apple's systems: a cookie of version 0 keeps one port.
      self.ports = ports.map { Array($0.prefix(1)) }
    }
    comment = Self.text(properties[.comment])
    commentURL = Self.url(properties[.commentURL])
    if Self.text(properties[.discard])?.uppercased() == "TRUE" { expires = nil }
    isSessionOnly = expires == nil
    isSecure = properties[.secure] != nil
    isHTTPOnly = properties[.httpOnly] != nil
    isSetByJavaScript = (properties[.setByJavaScript] as? NSNumber)?.boolValue ?? false
    let policy = properties[.sameSitePolicy]
    let policyText = (policy as? HTTPCookieStringPolicy)?.rawValue ?? Self.text(policy)
    switch policyText?.lowercased() {
    case "lax": sameSitePolicy = .sameSiteLax
    case "strict": sameSitePolicy = .sameSiteStrict
    default: sameSitePolicy = nil
    }
    partition = Self.text(properties[.partition])
    isPartitioned = properties[.partitioned] != nil
  }

  /// The policy in the terms of the rules.
  var sameSite: SetCookie.SameSite? {
    switch sameSitePolicy {
    case HTTPCookieStringPolicy.sameSiteLax?: .lax
    case HTTPCookieStringPolicy.sameSiteStrict?: .strict
    default: nil
    }
  }

  var properties: [HTTPCookiePropertyKey: Any] {
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value, .domain: domain, .path: path, .version: String(version),
      .discard: isSessionOnly ? "TRUE" : "FALSE",
    ]
    if let expires {
      if version == 1 {
        properties[.maximumAge] = String(Int(max(-1e15, min(expires.timeIntervalSinceNow.rounded(), 1e15))))
      } else {
        properties[.expires] = expires
      }
    }
    if isSecure { properties[.secure] = "TRUE" }
    if isHTTPOnly { properties[.httpOnly] = "TRUE" }
    properties[.comment] = comment
    properties[.commentURL] = commentURL
    properties[.port] = ports.map { $0.map(String.init).joined(separator: ",") }
    properties[.sameSitePolicy] = sameSitePolicy
    if isPartitioned { properties[.partitioned] = "TRUE" }
    properties[.partition] = partition
    if isSetByJavaScript { properties[.setByJavaScript] = NSNumber(value: true) }
    return properties
  }

  /// The domain as given, or the host of the origin.
  private static func domain(in properties: [HTTPCookiePropertyKey: Any]) -> String? {
    if let domain = text(properties[.domain]), !domain.isEmpty { return domain.lowercased() }
    return url(properties[.originURL])?.host?.lowercased()
  }

  /// Names take no part of the syntax around them. Only a cookie with a value may have none.
  private static func isName(_ text: String, of value: String) -> Bool {
    !(text.isEmpty && value.isEmpty) && isText(text) && !text.utf8.contains(UInt8(ascii: "="))
  }

  private static func isText(_ text: String) -> Bool {
    !text.utf8.contains { $0 == UInt8(ascii: ";") || ($0.isControl && $0 != 0x09) }
  }

  private static func integer(_ value: Any?) -> Int? {
    if let text = text(value) { return Int(text.trimmingHTTPWhitespace()) }
    return switch value {
    case let number as Int: number
    case let number as NSNumber: number.intValue
    default: nil
    }
  }

  private static func date(_ value: Any) -> Date? {
    if let date = value as? Date { return date }
    return text(value).flatMap { CookieDate.parse($0) }.map { Date(timeIntervalSince1970: TimeInterval($0)) }
  }

  private static func url(_ value: Any?) -> URL? { value as? URL ?? text(value).flatMap { URL(string: $0) } }

  /// Text of any kind: cutting a header field into its parts gives substrings.
  private static func text(_ value: Any?) -> String? {
    switch value {
    case let text as String: text
    case let text as any StringProtocol: String(text)
    case let text as NSString: String(describing: text)
    default: nil
    }
  }

  /// "80,8080"; nil, which means any port, when it lists none.
  private static func ports(_ text: String) -> [Int]? {
    let ports = text.split(separator: ",").compactMap { UInt16($0.trimmingHTTPWhitespace()).map(Int.init) }
    return ports.isEmpty ? nil : ports
  }
}
