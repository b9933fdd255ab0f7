import Foundation
import HTTPSemantics
import HTTPTransport

/// Which fields a request carries: the app's and the session's (`URLRequest.completed(by:)`), then the loader's defaults.
enum HTTPRequestFields {
  /// - Parameters:
  ///   - hasContent: whether a body follows that is not empty. Without a type, what is posted is taken for a form, as on
  ///     Apple's systems.
  ///   - change: how the load's other protocol is asked for, where it wants one.
  static func head(
    for request: URLRequest, hasContent: Bool, target: HTTPTarget, context: LoadContext, change: ProtocolChange? = nil
  ) -> HTTPRequestHead {
    var fields = request.headerFields
    // One copy, with room for what follows.
    fields.fields.reserveCapacity(fields.fields.count + 6)
    for name in ownedByTheLoader where fields.contains(name) { fields.remove(name) }
    fields.unfold()
    // RFC 9110 §11.7.2: what is meant for a proxy is not told to a server, be it behind a tunnel or reached directly.
    if context.configuration.proxies != nil { fields.remove("Proxy-Authorization") }
    if let hop = target.key.proxy, hop.use == .forward, let authorization = hop.authorization {
      fields.append("Proxy-Authorization", authorization)
    }
    if hasContent, request.httpMethod == "POST", !fields.contains("Content-Type") {
      fields.append("Content-Type", "application/x-www-form-urlencoded")
    }
    if !fields.contains("Accept") { fields.append("Accept", "*/*") }
    if !fields.contains("Accept-Language") { fields.append("Accept-Language", defaultLanguage) }
    if !fields.contains("User-Agent") { fields.append("User-Agent", defaultUserAgent) }
    if request.cachePolicy == .reloadIgnoringLocalAndRemoteCacheData, !fields.contains("Cache-Control") {
      fields.append("Cache-Control", "no-cache")
      if !fields.contains("Pragma") { fields.append("Pragma", "no-cache") }
    }
    if let upgrade = context.upgrade, let change {
      if change == .upgrade {
        fields.append("Connection", "Upgrade")
        fields.append("Upgrade", upgrade.name)
      }
      for field in upgrade.fields(request.headerFields, change).fields { fields[field.name] = field.value }
    }
    var head = HTTPRequestHead(
      method: request.httpMethod ?? "GET", target: target.requestTarget, authority: target.authority,
      scheme: target.key.scheme == .https ? "https" : "http", fields: fields)
    if change == .extendedConnect, let upgrade = context.upgrade {
      head.method = "CONNECT"
      head.connectProtocol = upgrade.name
    }
    return head
  }

  /// The loader owns the connection and the framing; what the app says of them would contradict the wire.
  private static let ownedByTheLoader = [
    "Host", "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "TE", "Proxy-Connection", "Content-Length",
  ]

  /// `program (Linux) URLLoadingSystem`: the program's name first, as on Apple's systems.
  private static let defaultUserAgent: String = {
    let name = ProcessInfo.processInfo.processName.utf8.map { byte -> Character in
      let isToken = (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
      return isToken || "-._".utf8.contains(byte) ? Character(UnicodeScalar(byte)) : "_"
    }
    return "\(String(name.isEmpty ? ["_"] : name)) (unknown version) URLLoadingSystem Linux"
  }()

  /// The user's languages by falling weight: `de-CH,de;q=0.9,en;q=0.8`.
  private static let defaultLanguage: String = {
    let languages = Locale.preferredLanguages.prefix(6).filter { !$0.isEmpty && $0.utf8.allSatisfy { $0 < 0x80 } }
    guard !languages.isEmpty else { return "en" }
    return languages.enumerated().map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }.joined(separator: ",")
  }()
}

extension HTTPFields {
  /// Puts values that were folded into one line. What can't be sent at all stays, and is refused by whoever encodes it.
  fileprivate mutating func unfold() {
    for index in fields.indices where fields[index].value.utf8.contains(0x0D) {
      guard case .success(let field) = FieldValidation.sanitized(name: fields[index].name, value: fields[index].value)
      else { continue }
      fields[index] = field
    }
  }
}
