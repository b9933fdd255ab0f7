import HTTPSemantics
import Testing

/// Every case that the public suite for HTTP caches requires of a browser, and those of its optional ones that are safe.
/// A case is named as there.
@Suite struct CacheDecisionTests {
  typealias Step = CacheScript.Step
  typealias Result = CacheScript.Result

  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var steps: [Step]
    /// Whether the last request is answered without the network.
    var isCached: Bool
    var testDescription: String { name }
  }

  /// A response, a pause, and the same request again.
  private static func twice(_ name: String, _ response: HTTPFields, isCached: Bool, pause: Int64 = 3) -> Case {
    Case(name: name, steps: [Step(response: response, pause: pause), Step(response: response)], isCached: isCached)
  }

  static let freshness = [
    twice("freshness-none", [:], isCached: false),
    twice("freshness-max-age", ["Cache-Control": "max-age=3600"], isCached: true),
    twice("freshness-max-age-stale", ["Cache-Control": "max-age=2"], isCached: false),
    twice("freshness-max-age-0", ["Cache-Control": "max-age=0"], isCached: false),
    twice("freshness-max-age-max-minus-1", ["Cache-Control": "max-age=2147483647"], isCached: true),
    twice("freshness-max-age-max", ["Cache-Control": "max-age=2147483648"], isCached: true),
    twice("freshness-max-age-max-plus-1", ["Cache-Control": "max-age=2147483649"], isCached: true),
    twice("freshness-max-age-max-plus", ["Cache-Control": "max-age=99999999999"], isCached: true),
    twice("max-age beyond 2⁶⁴", ["Cache-Control": "max-age=99999999999999999999999"], isCached: true),
    twice("freshness-max-age-age", ["Date": "@0", "Cache-Control": "max-age=3600", "Age": "7200"], isCached: false),
    twice("freshness-max-age-date", ["Date": "@-7200", "Cache-Control": "max-age=3600"], isCached: false),
    twice(
      "freshness-max-age-expires", ["Date": "@0", "Cache-Control": "max-age=3600", "Expires": "@-7200"], isCached: true),
    twice(
      "freshness-max-age-expires-invalid", ["Date": "@0", "Cache-Control": "max-age=3600", "Expires": "0"],
      isCached: true),
    twice(
      "freshness-max-age-0-expires", ["Date": "@0", "Cache-Control": "max-age=0", "Expires": "@3600"], isCached: false),
    twice("freshness-max-age-extension", ["Cache-Control": "foobar, max-age=3600"], isCached: true),
    twice("freshness-max-age-case-insenstive", ["Cache-Control": "MaX-aGe=3600"], isCached: true),
    twice("freshness-max-age-negative", ["Cache-Control": "max-age=-3600"], isCached: false),
    twice("freshness-max-age-s-maxage-private", ["Cache-Control": "s-maxage=3600, max-age=1"], isCached: false),
    twice(
      "freshness-max-age-s-maxage-private-multiple", ["Cache-Control": "s-maxage=3600", "Cache-Control": "max-age=1"],
      isCached: false),
  ]

  static let parsing = [
    twice("freshness-max-age-two-fresh-stale-sameline", ["Cache-Control": "max-age=1800, max-age=1"], isCached: false),
    twice(
      "freshness-max-age-two-fresh-stale-sepline", ["Cache-Control": "max-age=1800", "Cache-Control": "max-age=1"],
      isCached: false),
    twice("freshness-max-age-two-stale-fresh-sameline", ["Cache-Control": "max-age=1, max-age=1800"], isCached: false),
    twice(
      "freshness-max-age-ignore-quoted", ["Cache-Control": #"extension="max-age=3600", max-age=1"#], isCached: false),
    twice(
      "freshness-max-age-ignore-quoted-rev", ["Cache-Control": #"max-age=1, extension="max-age=3600""#],
      isCached: false),
    twice("freshness-max-age-quoted", ["Cache-Control": #"max-age="3600""#], isCached: true),
    twice("freshness-max-age-space-before-equals", ["Cache-Control": "max-age =3600"], isCached: false),
    twice("freshness-max-age-space-after-equals", ["Cache-Control": "max-age= 3600"], isCached: false),
    twice("freshness-max-age-leading-zero", ["Cache-Control": "max-age=003600"], isCached: true),
    twice("freshness-max-age-single-quoted", ["Cache-Control": "max-age='3600'"], isCached: false),
    twice("freshness-max-age-decimal-zero", ["Cache-Control": "max-age=3600.0"], isCached: false),
    twice("freshness-max-age-a100", ["Cache-Control": "max-age=a3600"], isCached: false),
    twice("freshness-max-age-100a", ["Cache-Control": "max-age=3600a"], isCached: false),
    twice("quote that never closes", ["Cache-Control": #"max-age=3600, a="no-store"#], isCached: false),
    twice("escaped quote", ["Cache-Control": #"a="\", no-store", max-age=3600"#], isCached: true),
    twice("empty members", ["Cache-Control": ", ,max-age=3600, ,"], isCached: true),
    twice("age-parse-nonnumeric", ["Cache-Control": "max-age=3600", "Age": "abc"], isCached: true),
    twice("age-parse-negative", ["Cache-Control": "max-age=3600", "Age": "-7200"], isCached: true),
    twice("age-parse-float", ["Cache-Control": "max-age=3600", "Age": "7200.0"], isCached: true),
    twice("age-parse-suffix", ["Cache-Control": "max-age=3600", "Age": "7200,0"], isCached: false),
    twice("age-parse-suffix-twoline", ["Cache-Control": "max-age=3600", "Age": "7200", "Age": "0"], isCached: false),
    twice("age-parse-prefix", ["Cache-Control": "max-age=3600", "Age": "0,7200"], isCached: true),
    twice("age-parse-dup-0", ["Cache-Control": "max-age=3600", "Age": "0, 0"], isCached: true),
    twice("age-parse-dup-old", ["Cache-Control": "max-age=3600", "Age": "7200, 7200"], isCached: false),
    twice("age beyond 2⁶⁴", ["Cache-Control": "max-age=3600", "Age": "99999999999999999999"], isCached: false),
    twice("pragma-response-no-cache", ["Cache-Control": "max-age=3600", "Pragma": "no-cache"], isCached: true),
  ]

  static let expires = [
    twice("freshness-expires-future", ["Date": "@0", "Expires": "@2592000"], isCached: true),
    twice("freshness-expires-past", ["Date": "@0", "Expires": "@-2592000"], isCached: false),
    twice("freshness-expires-present", ["Date": "@0", "Expires": "@0"], isCached: false, pause: 0),
    twice("freshness-expires-old-date", ["Date": "@400", "Expires": "@300"], isCached: false),
    twice("freshness-expires-invalid", ["Date": "@0", "Expires": "0"], isCached: false),
    twice("freshness-expires-invalid-date", ["Date": "foo", "Expires": "@10"], isCached: true),
    twice("freshness-expires-age-slow-date", ["Date": "@-10", "Expires": "@10", "Age": "25"], isCached: false),
    twice("freshness-expires-age-fast-date", ["Date": "@10", "Expires": "@20", "Age": "15"], isCached: false),
    twice(
      "freshness-expires-wrong-case-weekday", ["Date": "@0", "Expires": "THU, 18 Aug 2050 02:01:18 GMT"],
      isCached: true),
    twice(
      "freshness-expires-wrong-case-month", ["Date": "@0", "Expires": "Thu, 18 AUG 2050 02:01:18 GMT"], isCached: true),
    twice(
      "freshness-expires-wrong-case-tz", ["Date": "@0", "Expires": "Thu, 18 Aug 2050 02:01:18 gMT"], isCached: true),
    twice(
      "freshness-expires-invalid-utc", ["Date": "@0", "Expires": "Thu, 18 Aug 2050 02:01:18 UTC"], isCached: false),
    twice(
      "freshness-expires-invalid-2-digit-year", ["Date": "@0", "Expires": "Thu, 18 Aug 50 02:01:18 GMT"],
      isCached: false),
    twice(
      "freshness-expires-invalid-no-comma", ["Date": "@0", "Expires": "Thu 18 Aug 2050 02:01:18 GMT"], isCached: false),
    twice(
      "freshness-expires-invalid-multiple-spaces", ["Date": "@0", "Expires": "Thu, 18  Aug  2050 02:01:18 GMT"],
      isCached: false),
    twice(
      "freshness-expires-invalid-date-dashes", ["Date": "@0", "Expires": "Thu, 18-Aug-2050 02:01:18 GMT"],
      isCached: false),
    twice(
      "freshness-expires-invalid-time-periods", ["Date": "@0", "Expires": "Thu, 18 Aug 2050 02.01.18 GMT"],
      isCached: false),
    twice(
      "freshness-expires-invalid-1-digit-hour", ["Date": "@0", "Expires": "Thu, 18 Aug 2050 2:01:18 GMT"],
      isCached: false),
    twice("RFC 850 date", ["Date": "@0", "Expires": "Thursday, 18-Aug-50 02:01:18 GMT"], isCached: true),
    twice("asctime date", ["Date": "@0", "Expires": "Thu Aug 18 02:01:18 2050"], isCached: true),
    twice("two Expires", ["Date": "@0", "Expires": "@1000", "Expires": "@2000"], isCached: false),
  ]

  static let directives = [
    twice("cc-resp-private-private", ["Cache-Control": "private, max-age=3600"], isCached: true),
    twice("cc-resp-no-store", ["Cache-Control": "no-store"], isCached: false),
    twice("cc-resp-no-store-case-insensitive", ["Cache-Control": "No-StOrE"], isCached: false),
    twice(
      "cc-resp-no-store-fresh", ["Date": "@0", "Cache-Control": "max-age=10000, no-store", "Expires": "@10000"],
      isCached: false),
    twice("cc-resp-no-cache", ["Date": "@0", "Cache-Control": "max-age=10000, no-cache"], isCached: false),
    twice("cc-resp-no-cache-case-insensitive", ["Cache-Control": "max-age=10000, No-CaChE"], isCached: false),
    twice(
      "cc-resp-must-revalidate-fresh", ["Cache-Control": "max-age=10000, must-revalidate", "ETag": "\"a\""],
      isCached: true),
    twice("cc-resp-must-revalidate-stale", ["Cache-Control": "max-age=2, must-revalidate"], isCached: false),
    twice("other-set-cookie", ["Cache-Control": "max-age=3600", "Set-Cookie": "a=b"], isCached: true),
    twice(
      "other-fresh-content-disposition-attachment",
      ["Cache-Control": "max-age=3600", "Content-Disposition": "attachment"], isCached: true),
    Case(
      name: "cc-resp-immutable-fresh",
      steps: [
        Step(response: ["Cache-Control": "max-age=10000, immutable", "ETag": "\"a\""], pause: 3),
        Step(usage: .revalidate),
      ], isCached: true),
    Case(
      name: "query-args-different",
      steps: [Step(path: "/?test=1", response: ["Cache-Control": "max-age=9"]), Step(path: "/?test=2")],
      isCached: false),
    Case(
      name: "query-args-same",
      steps: [Step(path: "/?test=1", response: ["Cache-Control": "max-age=9"]), Step(path: "/?test=1")],
      isCached: true),
    Case(
      name: "method-POST",
      steps: [
        Step(method: "POST", path: "/a", response: ["Date": "@0", "Expires": "@99", "Content-Location": "/a"]),
        Step(path: "/a"),
      ], isCached: true),
    Case(
      name: "POST that does not say what it answers",
      steps: [Step(method: "POST", path: "/a", response: ["Date": "@0", "Expires": "@99"]), Step(path: "/a")],
      isCached: false),
  ]

  static let statuses: [Case] =
    [200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599].flatMap { status in
      [
        Case(
          name: "status-\(status)-fresh",
          steps: [
            Step(status: status, response: ["Date": "@0", "Cache-Control": "max-age=100000"], pause: 3),
            Step(status: status),
          ], isCached: true),
        Case(
          name: "status-\(status)-stale",
          steps: [
            Step(
              status: status, response: ["Date": "@0", "Expires": "@-5000", "Last-Modified": "@-100000"], pause: 3),
            Step(status: status),
          ], isCached: false),
      ]
    }
    + [200, 203, 204, 404, 405, 410, 414, 501, 201, 202, 403, 502, 503, 504, 599].map { status in
      Case(
        name: "heuristic-\(status)",
        steps: [
          Step(status: status, response: ["Date": "@0", "Last-Modified": "@-86400"], pause: 3), Step(status: status),
        ], isCached: [200, 203, 204, 404, 405, 410, 414, 501].contains(status))
    }
    + [
      Case(
        name: "heuristic-599-cached",
        steps: [
          Step(
            status: 599, response: ["Date": "@0", "Last-Modified": "@-86400", "Cache-Control": "public"], pause: 3),
          Step(),
        ], isCached: true),
      Case(
        name: "status-599-must-understand",
        steps: [
          Step(status: 599, response: ["Cache-Control": "max-age=3600, no-store, must-understand"]), Step(),
        ], isCached: false),
      Case(
        name: "status-200-must-understand",
        steps: [Step(response: ["Cache-Control": "max-age=3600, no-store, must-understand"]), Step()], isCached: true),
    ]

  private static func vary(
    _ name: String, _ first: HTTPFields, _ vary: HTTPFields, _ second: HTTPFields, isCached: Bool
  ) -> Case {
    var response: HTTPFields = ["Cache-Control": "max-age=5000", "Last-Modified": "@-3000", "Date": "@0"]
    response.fields += vary.fields
    return Case(
      name: name, steps: [Step(request: first, response: response), Step(request: second)], isCached: isCached)
  }

  static let vary = [
    vary("vary-match", ["Foo": "1"], ["Vary": "Foo"], ["Foo": "1"], isCached: true),
    vary("vary-no-match", ["Foo": "1"], ["Vary": "Foo"], ["Foo": "2"], isCached: false),
    vary("vary-omit-stored", [:], ["Vary": "Foo"], ["Foo": "1"], isCached: false),
    vary("vary-omit", ["Foo": "1"], ["Vary": "Foo"], [:], isCached: false),
    vary("empty is not absent", ["Foo": ""], ["Vary": "Foo"], [:], isCached: false),
    vary("vary-cache-key", ["Foo": "1", "Other": "2"], ["Vary": "Foo"], ["Foo": "1", "Other": "3"], isCached: true),
    vary("vary-2-match", ["Foo": "1", "Bar": "a"], ["Vary": "Foo, Bar"], ["Bar": "a", "foo": "1"], isCached: true),
    vary(
      "vary-2-no-match", ["Foo": "1", "Bar": "a"], ["Vary": "Foo, Bar"], ["Foo": "2", "Bar": "a"], isCached: false),
    vary("vary-2-match-omit", ["Foo": "1", "Bar": "a"], ["Vary": "Foo, Bar"], [:], isCached: false),
    vary("two lines", ["Foo": "1", "Bar": "a"], ["Vary": "Foo", "Vary": "Bar"], ["Foo": "1"], isCached: false),
    vary(
      "vary-3-order", ["Foo": "1", "Bar": "abc", "Baz": "789"], ["Vary": "Foo, Bar, Baz"],
      ["Foo": "1", "Baz": "789", "Bar": "abcde"], isCached: false),
    vary(
      "vary-3-omit", ["Foo": "1", "Baz": "789"], ["Vary": "Foo, Bar, Baz"], ["Foo": "1", "Baz": "789"], isCached: true),
    vary("vary-normalise-combine", ["Foo": "1, 2"], ["Vary": "Foo"], ["Foo": "1", "Foo": "2"], isCached: true),
    vary("vary-normalise-space", ["Foo": "1,2"], ["Vary": "Foo"], ["Foo": " 1, 2 "], isCached: true),
    vary("space in a quoted string", ["Foo": "\"1,2\""], ["Vary": "Foo"], ["Foo": "\"1, 2\""], isCached: false),
    vary("space in a member", ["Foo": "1 2"], ["Vary": "Foo"], ["Foo": "12"], isCached: false),
    vary(
      "vary-normalise-lang-case", ["Accept-Language": "en, de"], ["Vary": "Accept-Language"],
      ["Accept-Language": "eN, De"], isCached: true),
    vary(
      "vary-normalise-lang-space", ["Accept-Language": "en, de"], ["Vary": "Accept-Language"],
      ["Accept-Language": " en ,   de"], isCached: true),
    vary("vary-star", ["Foo": "1"], ["Vary": "*"], ["Foo": "1"], isCached: false),
    vary("vary-syntax-star-star", ["Foo": "1"], ["Vary": "*, *"], ["Foo": "1"], isCached: false),
    vary("vary-syntax-star-star-lines", ["Foo": "1"], ["Vary": "*", "Vary": "*"], ["Foo": "1"], isCached: false),
    vary("vary-syntax-empty-star", ["Foo": "1"], ["Vary": ", *"], ["Foo": "1"], isCached: false),
    vary("vary-syntax-empty-star-lines", ["Foo": "1"], ["Vary": "", "Vary": "*"], ["Foo": "1"], isCached: false),
    vary("vary-syntax-star-foo", ["Foo": "1"], ["Vary": "*, Foo"], ["Foo": "1"], isCached: false),
    vary("vary-syntax-foo-star", ["Foo": "1"], ["Vary": "Foo, *"], ["Foo": "1"], isCached: false),
    vary(
      "Authorization of another user", ["Authorization": "Basic YQ=="], [:], ["Authorization": "b"], isCached: false),
    vary(
      "the same Authorization", ["Authorization": "Basic YQ=="], [:], ["Authorization": "Basic YQ=="], isCached: true),
    vary("no Authorization any more", ["Authorization": "Basic YQ=="], [:], [:], isCached: false),
  ]

  static let requests: [Case] = [
    ("ccreq-ma0", ["Cache-Control": "max-age=0"], ["Cache-Control": "max-age=3600"], false),
    ("ccreq-ma1", ["Cache-Control": "max-age=1"], ["Cache-Control": "max-age=3600"], false),
    ("ccreq-magreaterage", ["Cache-Control": "max-age=600"], ["Cache-Control": "max-age=3600", "Age": "1800"], false),
    ("ccreq-max-stale", ["Cache-Control": "max-stale=1000"], ["Cache-Control": "max-age=1"], true),
    ("max-stale exceeded", ["Cache-Control": "max-stale=1"], ["Cache-Control": "max-age=1"], false),
    ("max-stale without a value", ["Cache-Control": "max-stale"], ["Cache-Control": "max-age=1"], true),
    (
      "max-stale and must-revalidate", ["Cache-Control": "max-stale"], ["Cache-Control": "max-age=1, must-revalidate"],
      false
    ),
    (
      "ccreq-max-stale-age", ["Cache-Control": "max-stale=1000"], ["Cache-Control": "max-age=1500", "Age": "2000"], true
    ),
    ("ccreq-min-fresh", ["Cache-Control": "min-fresh=2000"], ["Cache-Control": "max-age=1500"], false),
    (
      "ccreq-min-fresh-age", ["Cache-Control": "min-fresh=1000"], ["Cache-Control": "max-age=1500", "Age": "1000"],
      false
    ),
    ("ccreq-no-cache", ["Cache-Control": "no-cache"], ["Cache-Control": "max-age=3600"], false),
    ("pragma-request-no-cache", ["Pragma": "no-cache"], ["Cache-Control": "max-age=3600"], false),
    ("pragma-request-extension", ["Pragma": "unrecognised"], ["Cache-Control": "max-age=3600"], true),
    (
      "Pragma beside Cache-Control", ["Pragma": "no-cache", "Cache-Control": "a"], ["Cache-Control": "max-age=9"], true
    ),
    ("other-cookie", ["Cookie": "a=b"], ["Cache-Control": "max-age=3600"], true),
    ("If-Match", ["If-Match": "\"a\""], ["Cache-Control": "max-age=3600", "ETag": "\"a\""], false),
    ("only-if-cached", ["Cache-Control": "only-if-cached"], ["Cache-Control": "max-age=3600"], true),
  ].map { (name: String, request: HTTPFields, response: HTTPFields, isCached: Bool) in
    Case(name: name, steps: [Step(response: response, pause: 3), Step(request: request)], isCached: isCached)
  }

  private static let fresh: HTTPFields = ["Cache-Control": "max-age=600"]
  private static let ann: HTTPFields = ["Authorization": "Basic YQ=="]
  private static let bob: HTTPFields = ["Authorization": "Basic Yg=="]

  /// What one user's HEAD says is not said of what another has got.
  @Test func headOfAnotherUserDoesNotMakeAnAnswerHis() throws {
    let answers = CacheScript.play([
      Step(request: Self.ann, response: Self.fresh), Step(method: "HEAD", request: Self.bob, response: Self.fresh),
      Step(request: Self.bob, response: Self.fresh), Step(request: Self.ann, response: Self.fresh),
    ])
    #expect(answers.map(\.result) == [.fetched, .fetched, .fetched, .fetched])
    #expect(answers[2].body == 3)
  }

  /// The policies that accept any age do not accept another user's response.
  @Test(
    arguments: [
      (.preferStored, ann, bob, .fetched), (.onlyStored, ann, bob, .failed), (.preferStored, ann, [:], .fetched),
      (.onlyStored, ann, ann, .cached), (.onlyStored, [:], bob, .cached),
    ] as [(CacheUsage, HTTPFields, HTTPFields, Result)])
  func storedResponseIsOfTheUser(
    _ usage: CacheUsage, _ first: HTTPFields, _ second: HTTPFields, _ result: Result
  ) throws {
    let answers = CacheScript.play([
      Step(request: first, response: Self.fresh, pause: 3_600),
      Step(request: second, usage: usage, response: Self.fresh),
    ])
    #expect(answers.last?.result == result)
  }

  /// RFC 9111 §3.5; of directives that contradict each other the stricter counts.
  @Test(
    arguments: [("public", true), ("s-maxage=600", true), ("public, private", false), ("s-maxage=600, private", false)])
  func onlyAPublicResponseIsForAnotherUser(_ directives: String, _ isCached: Bool) {
    let answers = CacheScript.play([
      Step(request: Self.ann, response: ["Cache-Control": "max-age=600, \(directives)"], pause: 3),
      Step(request: Self.bob),
    ])
    #expect(answers[1].result == (isCached ? .cached : .fetched))
  }

  /// A date says that this user's representation has not changed since; it may be another one all the same. A tag names it.
  @Test(
    arguments: [
      (["Last-Modified": "@-3000"], false), (["ETag": "\"a\"", "Last-Modified": "@-3000"], true),
    ] as [(HTTPFields, Bool)])
  func onlyATagTellsThatAnAnswerIsForAnotherUserToo(_ validator: HTTPFields, isShared: Bool) throws {
    var response = Self.fresh
    response.fields += validator.fields
    let last = try #require(
      CacheScript.play([
        Step(request: Self.ann, response: response), Step(request: Self.bob, response: response, confirms: true),
      ]).last)
    #expect(last.result == (isShared ? .validated(["If-None-Match": "\"a\""]) : .fetched))
    #expect(last.body == (isShared ? 1 : 2))
  }

  @Test(arguments: [freshness, parsing, expires, directives, statuses, vary, requests].flatMap { $0 })
  func caseOfThePublicSuiteHolds(_ testCase: Case) throws {
    let last = try #require(CacheScript.play(testCase.steps).last)
    #expect((last.result == .cached) == testCase.isCached, "\(last)")
    if testCase.isCached { #expect(last.body == 1) }
  }
}
