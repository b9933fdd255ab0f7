import HTTPSemantics
import Testing

/// RFC 9110 §11.
@Suite struct AuthenticationChallengeTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let values: [String]
    let challenges: [AuthenticationChallenge]
    var testDescription: String { values.joined(separator: " | ") }

    init(_ values: String..., gives challenges: [AuthenticationChallenge]) {
      self.values = values
      self.challenges = challenges
    }
  }

  static func made(
    _ scheme: String, token68: String? = nil, _ parameters: KeyValuePairs<String, String> = [:]
  ) -> AuthenticationChallenge {
    AuthenticationChallenge(
      scheme: scheme, token68: token68,
      parameters: FieldParameters(parameters.map { FieldParameters.Parameter(name: $0.key, value: $0.value) }))
  }

  static let byTheBook: [Row] = [
    Row("Basic realm=\"simple\"", gives: [made("basic", ["realm": "simple"])]),
    Row("BASIC REALM=\"Simple\", Charset=UTF-8", gives: [made("basic", ["realm": "Simple", "charset": "UTF-8"])]),
    // RFC 9110 §11.6.1
    Row(
      "Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\"",
      gives: [
        made("basic", ["realm": "simple"]),
        made("newauth", ["realm": "apps", "type": "1", "title": "Login to \"apps\""]),
      ]),
    // RFC 7616 §3.9.1
    Row(
      "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=SHA-256, nonce=\"7ypf/x==\", opaque=\"\"",
      gives: [
        made(
          "digest",
          [
            "realm": "http-auth@example.org", "qop": "auth, auth-int", "algorithm": "SHA-256", "nonce": "7ypf/x==",
            "opaque": "",
          ])
      ]),
    Row("Negotiate", gives: [made("negotiate")]),
    Row("Negotiate oYG3MIG0oAMKAQE=", gives: [made("negotiate", token68: "oYG3MIG0oAMKAQE=")]),
    Row("NTLM TlRMTVNTUAACAAAA", gives: [made("ntlm", token68: "TlRMTVNTUAACAAAA")]),
    Row("Negotiate, NTLM, Basic realm=x", gives: [made("negotiate"), made("ntlm"), made("basic", ["realm": "x"])]),
    Row("Negotiate a==, NTLM b", gives: [made("negotiate", token68: "a=="), made("ntlm", token68: "b")]),
    Row(
      "Negotiate", "NTLM", "Basic realm=\"x\"", gives: [made("negotiate"), made("ntlm"), made("basic", ["realm": "x"])]),
    Row(
      "Bearer realm=\"a\", error=\"invalid_token\"", gives: [made("bearer", ["realm": "a", "error": "invalid_token"])]),
    Row(gives: []),
    Row("", gives: []),
    // RFC 9110 §5.6.1.2: empty members are ignored.
    Row(" , ,Basic realm=a , , b=c,,Negotiate,", gives: [made("basic", ["realm": "a", "b": "c"]), made("negotiate")]),
    // RFC 9110 §5.6.3: whitespace that should not be there, and is.
    Row("Basic \t realm \t = \t \"a\" \t , x = y", gives: [made("basic", ["realm": "a", "x": "y"])]),
    Row("Basic realm=\"a,b=c, Digest d=e\"", gives: [made("basic", ["realm": "a,b=c, Digest d=e"])]),
    Row("Basic realm=\"gr\u{FC}\u{DF}e\"", gives: [made("basic", ["realm": "gr\u{FC}\u{DF}e"])]),
    Row("Basic realm=\"a\\\\b\\c\"", gives: [made("basic", ["realm": "a\\bc"])]),
  ]

  static let asTheyAreSent: [Row] = [
    // The first counts: a second realm was added on the network, or is a mistake.
    Row("Basic realm=\"a\", realm=\"b\"", gives: [made("basic", ["realm": "a"])]),
    Row("Basic realm=My Server", gives: [made("basic", ["realm": "My Server"])]),
    Row("Basic realm=a@b/c, x=1", gives: [made("basic", ["realm": "a@b/c", "x": "1"])]),
    Row("Basic realm=\"open", gives: [made("basic", ["realm": "open"])]),
    Row("Basic realm=\"open\\", gives: [made("basic", ["realm": "open\\"])]),
    Row(
      "Basic realm=\"open, Digest realm=x", "Negotiate",
      gives: [
        made("basic", ["realm": "open, Digest realm=x"]), made("negotiate"),
      ]),
    Row("Basic realm=\"a\"garbage, x=y", gives: [made("basic", ["realm": "a", "x": "y"])]),
    // By the grammar that is a token68, and what follows the comma belongs to nothing.
    Row("Basic realm=, x=y", gives: [made("basic", token68: "realm=")]),
    Row("Basic x=y, realm=", gives: [made("basic", ["x": "y", "realm": ""])]),
    Row("Basic", gives: [made("basic")]),
    Row("Basic ", gives: [made("basic")]),
    Row("realm=\"a\", Basic realm=\"b\"", gives: [made("basic", ["realm": "b"])]),
    Row("=a, Basic realm=b", gives: [made("basic", ["realm": "b"])]),
    Row("\"Basic realm=a\", Digest realm=b", gives: [made("digest", ["realm": "b"])]),
    Row("Ba/sic realm=a, Digest realm=b", gives: [made("digest", ["realm": "b"])]),
    Row("Basic\u{0}realm=a, Digest realm=b", gives: [made("digest", ["realm": "b"])]),
    Row("Basic realm=\"a\" Digest realm=\"b\"", gives: [made("basic", ["realm": "a"])]),
    Row("Basic a b", gives: [made("basic")]),
    Row("====", gives: []), Row(",,,,", gives: []), Row("\"", gives: []), Row("\u{FFFD}", gives: []),
  ]

  @Test(arguments: byTheBook + asTheyAreSent) func challengesAreParsed(_ row: Row) {
    #expect(AuthenticationChallenge.parse(row.values) == row.challenges)
  }

  @Test func fieldsOfOneNameAreReadInOrder() {
    let fields: HTTPFields = ["WWW-Authenticate": "A", "Proxy-Authenticate": "B", "www-authenticate": "C realm=\"r\""]
    let challenges = AuthenticationChallenge.all(in: fields, "WWW-Authenticate")
    #expect(challenges.map(\.scheme) == ["a", "c"])
    #expect(challenges.map(\.realm) == [nil, "r"])
  }

  /// A field may be as long as a head: what it costs must not grow with its square.
  @Test(
    .timeLimit(.minutes(1)),
    arguments: ["a,", "a b=c,", "b=c,", "\"", "\\", "a ", "=", "a=\"", "\"\\", " ", ",", "a b=\"\\\"\",", "a 1="])
  func numbersOfChallengesAndParametersAreLimited(piece: String) {
    let value = String(repeating: piece, count: 250_000 / piece.utf8.count)
    #expect(AuthenticationChallenge.parse(["x " + value, value]).count <= AuthenticationChallenge.limit)
    let names = (0..<20_000).map { "p\($0)=v" }.joined(separator: ",")
    #expect(AuthenticationChallenge.parse(["x " + names]).first?.parameters.all.count == FieldParameters.limit)
  }

  @Test(
    arguments: [
      (["Basic realm=\"Squid\""], true, "Squid"), (["basic realm=x, charset=\"UTF-8\""], true, "x"),
      (["Digest realm=\"d\", nonce=\"Basic \", Basic realm=\"b, c\""], true, "b, c"), (["Basic"], true, nil),
      (["Negotiate", "Basic realm=\"n\""], true, "n"), (["Digest realm=\"Basic realm\""], false, nil),
      (["Basics realm=\"x\""], false, nil), ([], false, nil),
    ] as [([String], Bool, String?)])
  func basicIsFoundAmongOtherSchemes(values: [String], isOffered: Bool, realm: String?) {
    let basic = AuthenticationChallenge.parse(values).first { $0.scheme == "basic" }
    #expect((basic != nil) == isOffered)
    #expect(basic?.realm == realm)
  }
}
