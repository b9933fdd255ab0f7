/// The hosts that are reached without a proxy.
///
/// Two dialects are in use, and each is read as its writers mean it: the `ExceptionsList` of Apple's dictionaries, in
/// which a name stands for itself alone, and `no_proxy` of the environment, in which a name stands for its subdomains
/// too. Both know `*`, addresses, ranges (`10.0.0.0/8`, `169.254/16`), `host:port` and `<local>` (names without a dot).
package struct ProxyExceptions: Sendable, Hashable {
  package enum Dialect: Sendable, Hashable { case exceptionsList, noProxy }

  private enum Pattern: Hashable {
    case all
    case simpleNames
    case range(IPAddressText, prefix: Int)
    /// The name and, with `subdomains`, what is below it.
    case name(String, itself: Bool, subdomains: Bool)
    /// `*` stands for any run of characters.
    case wildcard(String)
  }

  private struct Entry: Hashable {
    var pattern: Pattern
    var port: Int?
  }

  private var entries: [Entry] = []

  package static let none = ProxyExceptions([], dialect: .exceptionsList)

  package init(_ texts: [String], dialect: Dialect) {
    entries = texts.compactMap { ProxyExceptions.entry($0.trimmingHTTPWhitespace().asciiLowercased(), dialect) }
  }

  /// The value of `no_proxy`: entries between commas or spaces.
  package init(noProxy value: String) {
    self.init(value.split { $0 == "," || $0.isWhitespace }.map { String($0) }, dialect: .noProxy)
  }

  package var isEmpty: Bool { entries.isEmpty }

  package func contains(_ destination: ProxyDestination) -> Bool {
    guard !entries.isEmpty else { return false }
    var host = destination.host
    if host.utf8.last == UInt8(ascii: ".") { host.removeLast() }
    let address = IPAddressText(host)
    return entries.contains { entry in
      guard entry.port == nil || entry.port == destination.port else { return false }
      return matches(entry.pattern, host, address, destination)
    }
  }

  private func matches(
    _ pattern: Pattern, _ host: String, _ address: IPAddressText?, _ destination: ProxyDestination
  ) -> Bool {
    switch pattern {
    case .all: true
    case .simpleNames: destination.isSimpleName
    case .range(let network, let prefix): address?.matches(network, prefix: prefix) == true
    case .name(let name, let itself, let subdomains):
      (itself && host == name) || (subdomains && address == nil && host.hasSuffix("." + name))
    case .wildcard(let wildcard): Wildcard.matches(Array(wildcard.utf8), Array(host.utf8))
    }
  }

  private static func entry(_ text: String, _ dialect: Dialect) -> Entry? {
    if text == "*" { return Entry(pattern: .all) }
    if text == "<local>" { return Entry(pattern: .simpleNames) }
    if let slash = text.firstIndex(of: "/") {
      return range(text[..<slash], prefix: text[text.index(after: slash)...]).map { Entry(pattern: $0) }
    }
    guard let (split, port) = HostAndPort.split(text) else { return nil }
    var host = split
    if let address = IPAddressText(host) {
      return Entry(pattern: .range(address, prefix: address.bytes.count * 8), port: port)
    }
    if host.utf8.last == UInt8(ascii: ".") { host.removeLast() }
    // "*.example.com" leaves out example.com itself in Apple's lists and not in no_proxy, as does ".example.com".
    let isBelow = host.hasPrefix("*.") || host.hasPrefix(".")
    let bare = host.hasPrefix("*.") ? String(host.dropFirst(2)) : host.hasPrefix(".") ? String(host.dropFirst()) : host
    guard !bare.isEmpty else { return nil }
    if bare.utf8.contains(UInt8(ascii: "*")) { return Entry(pattern: .wildcard(host), port: port) }
    let isNoProxy = dialect == .noProxy
    return Entry(pattern: .name(bare, itself: isNoProxy || !isBelow, subdomains: isNoProxy || isBelow), port: port)
  }

  /// `10.0.0.0/8`, `fd00::/8`, and Apple's `169.254/16`.
  private static func range(_ network: Substring, prefix: Substring) -> Pattern? {
    guard let length = Int64(decimalDigits: prefix.utf8) else { return nil }
    let bare = network.filter { $0 != "[" && $0 != "]" }
    let padded = IPAddressText.ipv4(Array(bare.utf8)[...], isShort: true).map { bytes in
      bytes.map { String($0) }.joined(separator: ".")
    }
    guard let address = IPAddressText(padded ?? bare), length <= address.bytes.count * 8 else { return nil }
    return .range(address, prefix: Int(length))
  }
}
