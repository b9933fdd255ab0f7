/// Takes one field value apart into challenges (RFC 9110 §11.6.1).
///
/// Commas part challenges as well as the parameters of one. A name with `=` behind it is a parameter of the challenge
/// before it; anything else begins a challenge.
struct ChallengeScanner {
  private var rest: ArraySlice<UInt8>

  init(_ value: String) { rest = Array(value.utf8)[...] }

  mutating func next() -> AuthenticationChallenge? {
    while skipSeparators() {
      let isParameter = startsWithParameter
      let scheme = takeToken()
      // No scheme: a stray parameter, or bytes that begin nothing.
      guard !scheme.isEmpty, !isParameter, rest.first.map({ $0.isHTTPWhitespace || $0 == comma }) ?? true else {
        skipMember()
        continue
      }
      var challenge = AuthenticationChallenge(scheme: scheme.asciiLowercased())
      skipWhitespace()
      if let token = takeToken68() {
        challenge.token68 = token
      } else {
        challenge.parameters = takeParameters()
        skipMember()
      }
      return challenge
    }
    return nil
  }

  /// The parameters of a field that is a list of them, without a scheme (RFC 7615 §3). Members that are none are passed
  /// over.
  static func parameters(of value: String) -> FieldParameters {
    var scanner = ChallengeScanner(value)
    var parameters = FieldParameters()
    while scanner.skipSeparators() {
      if scanner.startsWithParameter {
        for parameter in scanner.takeParameters().all {
          parameters.addUnlessPresent(name: parameter.name, value: parameter.value)
        }
      } else {
        scanner.skipMember()
      }
    }
    return parameters
  }

  private var comma: UInt8 { UInt8(ascii: ",") }
  private var equals: UInt8 { UInt8(ascii: "=") }

  private mutating func skipWhitespace() { rest = rest.drop(while: \.isHTTPWhitespace) }

  /// Commas and whitespace, as many as there are. Returns whether anything follows.
  private mutating func skipSeparators() -> Bool {
    rest = rest.drop { $0.isHTTPWhitespace || $0 == comma }
    return !rest.isEmpty
  }

  /// Everything up to the next comma outside quotes.
  private mutating func skipMember() {
    while let byte = rest.first, byte != comma {
      if byte == UInt8(ascii: "\"") { _ = takeQuoted() } else { rest.removeFirst() }
    }
  }

  private mutating func takeToken() -> String {
    let token = rest.prefix(while: \.isToken)
    rest = rest[token.endIndex...]
    return String(decoding: token, as: UTF8.self)
  }

  /// Whether a name, and `=` after perhaps some whitespace, come next.
  private var startsWithParameter: Bool {
    let name = rest.prefix(while: \.isToken)
    return !name.isEmpty && rest[name.endIndex...].first { !$0.isHTTPWhitespace } == equals
  }

  /// RFC 9110 §11.2: letters, digits, `-._~+/`, and `=` only at the end. It is alone in its challenge, so what follows
  /// tells it from the name of a parameter.
  private mutating func takeToken68() -> String? {
    let text = rest.prefix { $0.isLetter || $0.isDigit || "-._~+/".utf8.contains($0) }
    let padding = rest[text.endIndex...].prefix { $0 == equals }
    let after = rest[padding.endIndex...].drop(while: \.isHTTPWhitespace)
    guard !text.isEmpty, after.first.map({ $0 == comma }) ?? true else { return nil }
    defer { rest = after }
    return String(decoding: rest[..<padding.endIndex], as: UTF8.self)
  }

  private mutating func takeParameters() -> FieldParameters {
    var parameters = FieldParameters()
    while startsWithParameter {
      let name = takeToken().asciiLowercased()
      skipWhitespace()
      rest.removeFirst()
      skipWhitespace()
      parameters.addUnlessPresent(name: name, value: takeValue())
      // Text between the value and the next comma is not of the grammar.
      skipMember()
      let member = rest
      guard skipSeparators(), startsWithParameter else {
        rest = member
        break
      }
    }
    return parameters
  }

  private mutating func takeValue() -> String {
    if rest.first == UInt8(ascii: "\"") { return String(decoding: takeQuoted(), as: UTF8.self) }
    // A value without quotes may hold what a token can't, spaces among them: it ends at the comma.
    let value = rest.prefix { $0 != comma }
    rest = rest[value.endIndex...]
    return String(decoding: value, as: UTF8.self).trimmingHTTPWhitespace()
  }

  /// RFC 9110 §5.6.4. An open quote lasts until the end.
  private mutating func takeQuoted() -> [UInt8] {
    rest.removeFirst()
    var text: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
        text.append(escaped)
      } else {
        text.append(byte)
      }
    }
    return text
  }
}
