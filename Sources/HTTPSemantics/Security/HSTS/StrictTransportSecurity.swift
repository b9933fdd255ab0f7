/// The content of Strict-Transport-Security (RFC 6797 §6.1).
package struct StrictTransportSecurity: Sendable, Equatable {
  /// Seconds; 0 takes the policy back.
  package let maxAge: Int64
  package let includesSubdomains: Bool

  /// The policy of a response; nil when it has none, or one that is to be ignored. Only the first field counts (RFC
  /// 6797 §8.1).
  package init?(_ fields: HTTPFields) {
    guard let value = fields.values("Strict-Transport-Security").first else { return nil }
    self.init(parsing: value)
  }

  /// nil for a value that is not well formed, names a directive twice, or has no `max-age`: a host whose policy is not
  /// understood is not known by it. Directives that are unknown are ignored.
  package init?(parsing value: String) {
    guard let directives = Scanner.directives(of: value) else { return nil }
    // RFC 6797 §6.1, requirement 2.
    guard Set(directives.map(\.name)).count == directives.count else { return nil }
    guard let age = directives.first(where: { $0.name == "max-age" })?.value, !age.isEmpty,
      age.utf8.allSatisfy(\.isDigit)
    else { return nil }
    // More seconds than can be counted mean as many as can be.
    maxAge = Int64(decimalDigits: age.utf8) ?? .max
    let subdomains = directives.first { $0.name == "includesubdomains" }
    // RFC 6797 §6.1.2: it has no value.
    guard subdomains?.value == nil else { return nil }
    includesSubdomains = subdomains != nil
  }

  private struct Scanner {
    var rest: ArraySlice<UInt8>

    /// Names in lower case. nil when the value is not of the grammar, or longer than any policy.
    static func directives(of value: String) -> [(name: String, value: String?)]? {
      var scanner = Scanner(rest: Array(value.utf8)[...])
      guard scanner.rest.count <= 8_192 else { return nil }
      var directives: [(name: String, value: String?)] = []
      while true {
        scanner.skipWhitespace()
        if let first = scanner.rest.first, first != UInt8(ascii: ";") {
          guard let directive = scanner.takeDirective() else { return nil }
          directives.append(directive)
          scanner.skipWhitespace()
        }
        guard let separator = scanner.rest.popFirst() else { return directives }
        guard separator == UInt8(ascii: ";") else { return nil }
      }
    }

    private mutating func skipWhitespace() { rest = rest.drop(while: \.isHTTPWhitespace) }

    private mutating func takeDirective() -> (name: String, value: String?)? {
      guard let name = takeToken() else { return nil }
      skipWhitespace()
      guard rest.first == UInt8(ascii: "=") else { return (name.asciiLowercased(), nil) }
      rest.removeFirst()
      skipWhitespace()
      guard let value = rest.first == UInt8(ascii: "\"") ? takeQuoted() : takeToken() else { return nil }
      return (name.asciiLowercased(), value)
    }

    private mutating func takeToken() -> String? {
      let token = rest.prefix(while: \.isToken)
      rest = rest[token.endIndex...]
      return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
    }

    /// nil without a closing quote.
    private mutating func takeQuoted() -> String? {
      rest.removeFirst()
      var text: [UInt8] = []
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
        if byte == UInt8(ascii: "\\") {
          guard let escaped = rest.popFirst() else { return nil }
          text.append(escaped)
        } else {
          text.append(byte)
        }
      }
      return nil
    }
  }
}
