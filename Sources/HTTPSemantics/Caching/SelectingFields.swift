import Crypto

/// The request fields that decided about a stored response (RFC 9111 §4.1): their names, and a digest of what they
/// said. The values themselves may be cookies or credentials, and are not kept.
package struct SelectingFields: Sendable, Equatable {
  /// In lower case, sorted, without repetition.
  package var names: [String]
  package var digest: [UInt8]

  package init(names: [String], digest: [UInt8]) {
    self.names = names
    self.digest = digest
  }

  /// nil when Vary holds `*`, which no later request matches, or names too many fields.
  package init?(vary response: HTTPFields, of request: HTTPFields) {
    guard let names = SelectingFields.names(in: response) else { return nil }
    self.init(names, of: request)
  }

  /// - Parameter names: In lower case, sorted, without repetition.
  init(_ names: [String], of request: HTTPFields) {
    self.names = names
    digest = SelectingFields.digest(names, of: request)
  }

  package func match(_ request: HTTPFields) -> Bool {
    names.isEmpty || SelectingFields.digest(names, of: request) == digest
  }

  /// In lower case, sorted; nil for `*`, and for too many.
  static func names(in response: HTTPFields) -> [String]? {
    guard response.contains("Vary") else { return [] }
    var names: Set<String> = []
    for value in response.values("Vary") {
      for member in value.utf8.split(separator: UInt8(ascii: ",")) {
        let name = Substring(member).trimmingHTTPWhitespace().asciiLowercased()
        guard name != "*" else { return nil }
        if !name.isEmpty { names.insert(name) }
      }
    }
    return names.count <= 64 ? names.sorted() : nil
  }

  private static func digest(_ names: [String], of request: HTTPFields) -> [UInt8] {
    guard !names.isEmpty else { return [] }
    var hash = SHA256()
    for name in names {
      // Neither a name nor a value holds a control character.
      hash.update(data: Array(name.utf8) + [0])
      if let value = request[name] { hash.update(data: normalized(value, of: name) + [1]) }
      hash.update(data: [2])
    }
    return Array(hash.finalize())
  }

  /// RFC 9111 §4.1 lets values be compared without the whitespace around list members, and in one case where the field
  /// knows no case. The order of members may matter to a server, so it is kept.
  static func normalized(_ value: String, of name: String) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(value.utf8.count)
    var isQuoted = false
    var isEscaped = false
    /// Whitespace that is kept unless a comma or the end follows.
    var spaces: [UInt8] = []
    let ignoresCase = name == "accept-language" || name == "accept-encoding"
    for byte in value.utf8 {
      if isQuoted {
        result.append(byte)
        if !isEscaped, byte == UInt8(ascii: "\"") { isQuoted = false }
        isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        continue
      }
      if byte.isHTTPWhitespace {
        if let last = result.last, last != UInt8(ascii: ",") { spaces.append(byte) }
        continue
      }
      if byte != UInt8(ascii: ",") { result += spaces }
      spaces = []
      isQuoted = byte == UInt8(ascii: "\"")
      result.append(ignoresCase ? byte.lowercased : byte)
    }
    return result
  }
}
