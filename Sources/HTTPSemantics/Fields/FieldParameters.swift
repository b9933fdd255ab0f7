/// The `; name=value` pairs after the first part of a field such as Content-Type (RFC 9110 §5.6.6).
///
/// Read leniently, as servers write them: empty parameters, spaces around `=`, and missing closing quotes pass.
/// Names are in lower case. Of a name that repeats, the first value counts. No field has use for more than `limit`
/// parameters; what comes after them is not read, since look-up is linear.
package struct FieldParameters: Sendable, Equatable {
  package struct Parameter: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  package private(set) var all: [Parameter] = []

  package static let limit = 64

  package init(_ parameters: [Parameter] = []) { all = parameters }

  /// The value of the parameter of that lower-case name.
  package subscript(name: String) -> String? { all.first { $0.name == name }?.value }

  /// - Parameters:
  ///   - bytes: what follows the first part, from its `;` on.
  ///   - endsAtComma: whether a comma outside quotes begins another value of the field, which is then not read.
  init(parsing bytes: some Collection<UInt8>, endsAtComma: Bool) {
    var scanner = Scanner(rest: Array(bytes)[...], endsAtComma: endsAtComma)
    while all.count < FieldParameters.limit, let parameter = scanner.next() {
      if !parameter.name.isEmpty { addUnlessPresent(name: parameter.name, value: parameter.value) }
    }
  }

  /// - Parameter name: In lower case.
  mutating func addUnlessPresent(name: String, value: String) {
    guard all.count < FieldParameters.limit, self[name] == nil else { return }
    all.append(Parameter(name: name, value: value))
  }

  private struct Scanner {
    var rest: ArraySlice<UInt8>
    let endsAtComma: Bool

    /// The next parameter; its name is empty when there was none between two semicolons. nil at the end.
    mutating func next() -> Parameter? {
      if rest.first == UInt8(ascii: ";") { rest.removeFirst() }
      skipWhitespace()
      guard let first = rest.first, !(endsAtComma && first == UInt8(ascii: ",")) else { return nil }
      let name = take { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }
      guard rest.first == UInt8(ascii: "=") else { return Parameter(name: "", value: "") }
      rest.removeFirst()
      skipWhitespace()
      let value = rest.first == UInt8(ascii: "\"") ? takeQuoted() : take { $0 == UInt8(ascii: ";") }
      return Parameter(name: name.asciiLowercased(), value: value)
    }

    private mutating func skipWhitespace() {
      rest = rest.drop(while: \.isHTTPWhitespace)
    }

    private mutating func take(until ends: (UInt8) -> Bool) -> String {
      let taken = rest.prefix { !ends($0) && !(endsAtComma && $0 == UInt8(ascii: ",")) }
      rest = rest[taken.endIndex...]
      return String(decoding: taken, as: UTF8.self).trimmingHTTPWhitespace()
    }

    /// RFC 9110 §5.6.4: a backslash makes the next character literal. What trails the closing quote is skipped.
    private mutating func takeQuoted() -> String {
      rest.removeFirst()
      var value: [UInt8] = []
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
          value.append(escaped)
        } else {
          value.append(byte)
        }
      }
      _ = take { $0 == UInt8(ascii: ";") }
      return String(decoding: value, as: UTF8.self)
    }
  }
}
