import Foundation
import HTTPSemantics
import HTTPTransport

/// The parts of an http or https URL that a request needs, cut out of the URL's text in one pass (RFC 3986 §3).
package struct HTTPTarget: Sendable {
  /// An object that does not change: each stage of each request takes a copy of the target, and few change one.
  private final class Parts: Sendable {
    let key: ConnectionKey
    let requestTarget: String
    let authority: String
    let namesUser: Bool

    init(_ key: ConnectionKey, _ requestTarget: String, authority: String, namesUser: Bool) {
      self.key = key
      self.requestTarget = requestTarget
      self.authority = authority
      self.namesUser = namesUser
    }
  }

  private var parts: Parts

  /// Each change makes a copy of all parts: change a key elsewhere where much of it changes.
  package var key: ConnectionKey {
    _read { yield parts.key }
    set { parts = Parts(newValue, requestTarget, authority: authority, namesUser: namesUser) }
  }
  /// Path and query: the request target in origin-form (RFC 9112 §3.2.1).
  package var requestTarget: String {
    get { parts.requestTarget }
    set { parts = Parts(key, newValue, authority: authority, namesUser: namesUser) }
  }
  /// Host, and port when it is not the scheme's default: the value of Host.
  package var authority: String { parts.authority }
  /// Whether a user name, and perhaps a password, stands before the host. They are not sent.
  package var namesUser: Bool { parts.namesUser }

  package init(_ url: URL) throws {
    guard let target = HTTPTarget(text: url.absoluteString) else { throw HTTPTarget.impossible(url) }
    self = target
  }

  /// The parts of an ftp or ftps URL, for a proxy that is asked for it over HTTP. The key is that of the server, whose
  /// connections begin without TLS as far as this one is concerned.
  init(ftp url: URL) throws {
    let bytes = url.absoluteString.utf8
    let isSecure = HTTPTarget.hasPrefix(bytes, "ftps://")
    guard isSecure || HTTPTarget.hasPrefix(bytes, "ftp://"),
      let target = HTTPTarget(bytes.dropFirst(isSecure ? 7 : 6), scheme: .http, defaultPort: isSecure ? 990 : 21)
    else { throw HTTPTarget.impossible(url) }
    self = target
  }

  private static func impossible(_ url: URL) -> URLError {
    ErrorMapping.urlError(
      ErrorMapping.make(.badURL, because: "The URL names no possible host, or its port is not a number up to 65535."),
      url: url)
  }

  init?(text: String) {
    let bytes = text.utf8
    if HTTPTarget.hasPrefix(bytes, "https://") {
      self.init(bytes.dropFirst(8), scheme: .https, defaultPort: 443)
    } else if HTTPTarget.hasPrefix(bytes, "http://") {
      self.init(bytes.dropFirst(7), scheme: .http, defaultPort: 80)
    } else if HTTPTarget.hasPrefix(bytes, "http+unix://") {
      self.init(socketURL: bytes.dropFirst(12))
    } else {
      return nil
    }
  }

  private init?(_ text: Substring.UTF8View, scheme: ConnectionKey.Scheme, defaultPort: Int) {
    var rest = text
    var namesUser = false
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    var host = rest[..<(end ?? rest.endIndex)]
    rest = rest[(end ?? rest.endIndex)...]
    if let at = host.lastIndex(of: UInt8(ascii: "@")) {
      host = host[host.index(after: at)...]
      namesUser = true
    }
    let isLiteral = host.first == UInt8(ascii: "[")
    guard let (name, port) = HTTPTarget.split(host, defaultPort: defaultPort) else { return nil }
    // RFC 9110 §4.2.3: characters of the host may be written as escapes. RFC 6874: so is the zone's percent sign.
    guard let plainName = name.utf8.contains(UInt8(ascii: "%")) ? HTTPTarget.unescaped(name) : name,
      HTTPTarget.isHost(plainName, isLiteral: isLiteral)
    else { return nil }
    // RFC 6874 §3: a zone means something on this machine alone, and is not sent.
    let printed = isLiteral ? "[\(plainName.prefix { $0 != "%" })]" : plainName
    parts = Parts(
      ConnectionKey(scheme: scheme, host: plainName, port: port), HTTPTarget.requestTarget(rest),
      authority: port == defaultPort ? printed : "\(printed):\(port)", namesUser: namesUser)
  }

  /// The host is the escaped path of a socket. The server is told `localhost`, since no host's name leads to it.
  private init?(socketURL text: Substring.UTF8View) {
    let host = text.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    guard let bytes = percentDecoded(host, lenient: false), bytes.first == UInt8(ascii: "/"), !bytes.contains(0),
      let path = String(validating: bytes, as: UTF8.self),
      let target = HTTPTarget(Substring("localhost").utf8, scheme: .http, defaultPort: 80)
    else { return nil }
    // Each socket is a server of its own.
    var key = target.key
    key.host = path
    key.socketPath = path
    parts = Parts(
      key, HTTPTarget.requestTarget(text[host.endIndex...]), authority: target.authority, namesUser: target.namesUser)
  }

  private static func requestTarget(_ rest: Substring.UTF8View) -> String {
    let path = String(Substring(rest.prefix { $0 != UInt8(ascii: "#") }))
    return path.isEmpty ? "/" : path.utf8.first == UInt8(ascii: "?") ? "/" + path : path
  }

  /// For bytes that are no HTTP: nothing is asked of the server.
  init(_ key: ConnectionKey) {
    parts = Parts(key, "", authority: "", namesUser: false)
  }

  /// Whether nothing in `host` would end it, or name another host, where it is written down: in a URL, a field or an
  /// address. `isLiteral`: it is an IPv6 address, with or without a zone.
  static func isHost(_ host: String, isLiteral: Bool) -> Bool {
    !host.utf8.contains { byte in
      switch byte {
      case UInt8(ascii: ":"), UInt8(ascii: "%"): !isLiteral
      case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "["), UInt8(ascii: "]"),
        UInt8(ascii: "@"), UInt8(ascii: "\\"), UInt8(ascii: " "):
        true
      default: byte.isControl
      }
    }
  }

  private static func unescaped(_ host: String) -> String? {
    guard let bytes = percentDecoded(host.utf8, lenient: false) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    return text.asciiLowercased()
  }

  private static func hasPrefix(_ bytes: String.UTF8View, _ prefix: StaticString) -> Bool {
    prefix.withUTF8Buffer { prefix in
      bytes.count > prefix.count
        && zip(bytes, prefix).allSatisfy { $0 == $1 || ($0 | 0x20 == $1 && (0x41...0x5a).contains($0)) }
    }
  }

  /// Host without brackets in lower case, and the port.
  private static func split(
    _ authority: Substring.UTF8View, defaultPort: Int
  ) -> (String, Int)? {
    var host = authority
    var digits: Substring.UTF8View = authority[authority.endIndex...]
    if authority.first == UInt8(ascii: "[") {
      guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<close]
      digits = authority[authority.index(after: close)...]
      guard digits.isEmpty || digits.first == UInt8(ascii: ":") else { return nil }
      digits = digits.dropFirst()
    } else if let colon = authority.lastIndex(of: UInt8(ascii: ":")) {
      host = authority[..<colon]
      digits = authority[authority.index(after: colon)...]
    }
    guard !host.isEmpty else { return nil }
    var name = Substring(host)
    if host.contains(where: { (0x41...0x5a).contains($0) }) { name = Substring(name.lowercased()) }
    if digits.isEmpty { return (String(name), defaultPort) }
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(Substring(digits)),
      (1...65535).contains(port)
    else { return nil }
    return (String(name), port)
  }
}
