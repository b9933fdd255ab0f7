/// One directive of Cache-Control: a name, and perhaps a value as token or quoted string (RFC 9111 §5.2).
struct CacheDirective {
  /// In lower case.
  var name: String
  /// Without its quotes.
  var value: [UInt8] = []
  var hasValue = false
  var isQuoted = false
  /// Whether there is whitespace around the `=`, or something behind the closing quote.
  var isMalformed = false
  var isUnterminated = false
}

/// Takes a Cache-Control value apart. A comma in a quoted string separates nothing.
struct CacheDirectiveScanner {
  private var rest: Substring.UTF8View

  init(_ value: String) { rest = value.utf8[...] }

  mutating func next() -> CacheDirective? {
    while let first = rest.first, first == UInt8(ascii: ",") || first.isHTTPWhitespace { rest.removeFirst() }
    guard !rest.isEmpty else { return nil }
    let nameBytes = take { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "=") }
    let name = Substring(nameBytes)
    let hasValue = rest.first == UInt8(ascii: "=")
    var directive = CacheDirective(name: name.trimmingHTTPWhitespace().asciiLowercased(), hasValue: hasValue)
    guard hasValue else { return directive }
    directive.isMalformed = nameBytes.last?.isHTTPWhitespace ?? true
    rest.removeFirst()
    if rest.first?.isHTTPWhitespace == true { directive.isMalformed = true }
    while rest.first?.isHTTPWhitespace == true { rest.removeFirst() }
    if rest.first == UInt8(ascii: "\"") { takeQuoted(into: &directive) }
    let token = take { $0 == UInt8(ascii: ",") }
    let trailing = Substring(token).trimmingHTTPWhitespace()
    if directive.value.isEmpty, !directive.isQuoted {
      directive.value = Array(trailing.utf8)
    } else if !trailing.isEmpty {
      directive.isMalformed = true
    }
    return directive
  }

  /// RFC 9110 §5.6.4.
  private mutating func takeQuoted(into directive: inout CacheDirective) {
    rest.removeFirst()
    directive.isQuoted = true
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return }
      if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
        directive.value.append(escaped)
      } else {
        directive.value.append(byte)
      }
    }
    directive.isUnterminated = true
    directive.isMalformed = true
  }

  private mutating func take(until ends: (UInt8) -> Bool) -> Substring.UTF8View {
    let taken = rest.prefix { !ends($0) }
    rest = rest[taken.endIndex...]
    return taken
  }
}
