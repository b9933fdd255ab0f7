/// One challenge of a WWW-Authenticate or Proxy-Authenticate field (RFC 9110 §11.3).
///
/// Read leniently, as servers write them: empty list members, whitespace around `=`, values without their quotes, a
/// missing closing quote. What can't be read is passed over up to the next comma; it never makes the rest unreadable.
package struct AuthenticationChallenge: Sendable, Equatable {
  /// In lower case: `basic`, `digest`, `negotiate`, …
  package var scheme: String
  /// The token behind the scheme of `Negotiate` and `NTLM` (RFC 9110 §11.2); nil where parameters do, or nothing.
  package var token68: String?
  /// Names are in lower case; of a name that repeats, the first value counts.
  package var parameters: FieldParameters

  package init(scheme: String, token68: String? = nil, parameters: FieldParameters = FieldParameters()) {
    self.scheme = scheme
    self.token68 = token68
    self.parameters = parameters
  }

  /// The protection space's name (RFC 9110 §11.5); nil when the challenge has none.
  package var realm: String? { parameters["realm"] }

  /// The challenges of all fields of that name, in order.
  package static func all(in fields: HTTPFields, _ name: String) -> [AuthenticationChallenge] {
    parse(fields.values(name))
  }

  /// - Parameter values: The values of the fields, not joined: a quote that is left open in one must not swallow the
  ///   next. A response has at most `limit` challenges; further ones are not read.
  package static func parse(_ values: [String]) -> [AuthenticationChallenge] {
    var challenges: [AuthenticationChallenge] = []
    for value in values {
      var scanner = ChallengeScanner(value)
      while challenges.count < limit, let challenge = scanner.next() { challenges.append(challenge) }
    }
    return challenges
  }

  package static let limit = 32
}
