import HTTPSemantics
import Testing

@Suite struct StoreDecisionTests {
  typealias Step = CacheScript.Step

  // MARK: Fields (RFC 9111 §3.1)

  @Test(
    arguments: [
      "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
      "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
    ]) func fieldOfOneConnectionIsNotStored(_ name: String)
  {
    let answers = CacheScript.play([Step(response: [name: "x", "Cache-Control": "max-age=9"]), Step()])
    #expect(answers[1].result == .cached)
    #expect(answers[1].head.fields[name] == nil)
  }

  @Test(
    arguments: [
      "Test-Header", "X-Test-Header", "Content-Foo", "X-Content-Foo", "Content-Encoding", "Content-Length",
      "Content-Location", "Content-MD5", "Content-Range", "Content-Security-Policy", "Content-Type", "Clear-Site-Data",
      "ETag", "Public-Key-Pins", "Set-Cookie", "Set-Cookie2", "X-Frame-Options", "X-XSS-Protection",
    ]) func otherFieldIsStored(_ name: String)
  {
    let answers = CacheScript.play([Step(response: [name: "x", "Cache-Control": "max-age=9"]), Step()])
    #expect(answers[1].result == .cached)
    #expect(answers[1].head.fields[name] == "x")
  }

  @Test(arguments: ["Connection", "Cache-Control"]) func fieldsThatAnotherNamesAreNotStored(_ name: String) {
    let value = name == "Connection" ? "A, b" : #"no-cache="A, b""#
    let answers = CacheScript.play([
      Step(response: [name: value, "Cache-Control": "max-age=9", "a": "1", "B": "2", "c": "3"]), Step(),
    ])
    #expect(answers[1].result == .cached)
    #expect(answers[1].head.fields.contains("a") == false)
    #expect(answers[1].head.fields.contains("b") == false)
    #expect(answers[1].head.fields["c"] == "3")
  }

  // MARK: 304 (RFC 9111 §3.2, §4.3.4)

  @Test(
    arguments: [
      ("Test-Header", true), ("Content-Foo", true), ("Content-Type", true), ("Set-Cookie", true), ("Expires", true),
      ("Content-Length", false), ("Content-Encoding", false), ("Content-Range", false),
    ]) func confirmationUpdates(_ name: String, isUpdated: Bool)
  {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=2", "ETag": "\"a\"", name: "1"], pause: 3),
      Step(response: ["Cache-Control": "max-age=2", "ETag": "\"a\"", name: "2"], confirms: true),
      Step(),
    ])
    #expect(answers[1].result == .validated(["If-None-Match": "\"a\""]))
    #expect(answers[1].head.fields[name] == (isUpdated ? "2" : "1"))
    #expect(answers[2].result == .cached)
    #expect(answers[2].head.fields[name] == (isUpdated ? "2" : "1"))
    #expect(answers.map(\.body) == [1, 1, 1])
  }

  @Test func confirmationKeepsWhatItOmits() {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=2", "ETag": "\"a\"", "Age": "1", "Test": "1"], pause: 3),
      Step(response: ["Date": "@0"], confirms: true, pause: 1), Step(),
    ])
    #expect(answers[2].result == .cached)
    #expect(answers[2].head.fields["Test"] == "1")
    #expect(answers[2].head.fields["Age"] == "1")
  }

  @Test(arguments: [("\"a\"", "\"b\"", true), ("\"a\"", "W/\"b\"", true), ("W/\"a\"", "\"a\"", false)])
  func confirmationOfAnotherTagUpdatesNothing(_ stored: String, _ confirmed: String, _ isContradiction: Bool) {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=2", "ETag": stored], pause: 3),
      Step(response: ["Cache-Control": "max-age=99", "ETag": confirmed], confirms: true), Step(),
    ])
    #expect((answers[1].result == .contradicted) == isContradiction)
    #expect(answers[2].result == (isContradiction ? .fetched : .cached))
  }

  @Test(arguments: [("Foo", "1", true), ("Foo", "2", false), ("*", "1", false)])
  func confirmationAddsToVary(_ vary: String, _ value: String, _ isCached: Bool) {
    let first: HTTPFields = ["Foo": "1", "Bar": "1"]
    for method in ["GET", "HEAD"] {
      let answers = CacheScript.play([
        Step(
          request: first, response: ["Cache-Control": "max-age=2", "ETag": "\"a\"", "Vary": "Bar"], pause: 3),
        Step(
          method: method, request: first,
          response: ["Cache-Control": "max-age=99", "ETag": "\"a\"", "Vary": vary], confirms: true),
        Step(request: ["Foo": value, "Bar": "1"]), Step(request: ["Foo": value, "Bar": "2"]),
      ])
      #expect(answers[2].result == (isCached ? .cached : .fetched))
      #expect(answers[3].result == .fetched)
    }
  }

  @Test func confirmationForTheAppUpdatesWhatItsStrongTagNames() {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=2", "ETag": "\"a\""], pause: 3),
      Step(
        request: ["If-None-Match": "\"a\""], status: 304, response: ["ETag": "\"a\"", "Cache-Control": "max-age=9"]),
      Step(),
    ])
    #expect(answers.map(\.result) == [.fetched, .fetched, .cached])
    #expect(answers[1].head.status == 304)
    #expect(answers[2].head.status == 200)
  }

  // MARK: Conditions (RFC 9111 §4.3.1)

  @Test(
    arguments: [
      (["ETag": "\"a\""], ["If-None-Match": "\"a\""]), (["ETag": "W/\"a\""], ["If-None-Match": "W/\"a\""]),
      (["ETag": "a"], ["If-None-Match": "a"]),
      (
        ["Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT"], ["If-Modified-Since": "Wed, 01 Jan 2020 00:00:00 GMT"]
      ),
    ] as [(HTTPFields, HTTPFields)]) func staleResponseIsValidated(_ validator: HTTPFields, with condition: HTTPFields)
  {
    var response: HTTPFields = ["Cache-Control": "max-age=1"]
    response.fields += validator.fields
    let answers = CacheScript.play([Step(response: response, pause: 3), Step(confirms: true)])
    #expect(answers[1].result == .validated(condition))
  }

  @Test func revalidationTellsCachesOnTheWay() {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=2, immutable", "ETag": "\"a\""], pause: 3),
      Step(usage: .revalidate, confirms: true),
    ])
    #expect(answers[1].result == .validated(["If-None-Match": "\"a\"", "Cache-Control": "max-age=0"]))
  }

  @Test(
    arguments: [
      (["If-None-Match": "\"a\""], 304), (["If-None-Match": "\"b\", W/\"a\""], 304), (["If-None-Match": "*"], 304),
      (["If-None-Match": "\"b\""], 200), (["If-None-Match": "\"b\"", "If-Modified-Since": "@0"], 200),
      (["If-Modified-Since": "Thu, 01 Jan 2099 00:00:00 GMT"], 304),
      (["If-Modified-Since": "Sunday, 06-Nov-94 08:49:37 GMT"], 200),
    ] as [(HTTPFields, Int)]) func freshResponseAnswersTheAppsCondition(_ condition: HTTPFields, with status: Int)
  {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=99", "ETag": "\"a\"", "Last-Modified": "@-3000", "Date": "@0"]),
      Step(request: condition),
    ])
    #expect(answers[1].result == .cached)
    #expect(answers[1].head.status == status)
    #expect(answers[1].head.fields["ETag"] == "\"a\"")
  }

  // MARK: HEAD (RFC 9111 §4.3.5)

  @Test func answerToHeadUpdatesWhatItSpeaksOf() {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=2", "A": "1"], pause: 3),
      Step(method: "HEAD", response: ["Cache-Control": "max-age=1000", "A": "2"]), Step(), Step(method: "HEAD"),
    ])
    #expect(answers.map(\.result) == [.fetched, .fetched, .cached, .cached])
    #expect(answers[2].head.fields["A"] == "2")
  }

  @Test(arguments: ["ETag", "Last-Modified", "Content-Length"])
  func answerToHeadRemovesAnotherRepresentation(_ name: String) {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=99", name: "1"]),
      Step(method: "HEAD", usage: .reload, response: [name: "2"]), Step(),
    ])
    #expect(answers[2].result == .fetched)
  }

  // MARK: Unsafe methods (RFC 9111 §4.4)

  @Test(arguments: ["POST", "PUT", "DELETE", "M-SEARCH"]) func unsafeMethodInvalidates(_ method: String) {
    let fresh: HTTPFields = ["Cache-Control": "max-age=99"]
    let answers = CacheScript.play([
      Step(path: "/d/a", response: fresh), Step(path: "/d/b", response: fresh), Step(path: "/d/c", response: fresh),
      Step(path: "/d/e", response: fresh),
      Step(
        method: method, path: "/d/a",
        response: ["Location": "b", "Content-Location": "http://example.com:80/d/x/../c"]),
      Step(path: "/d/a"), Step(path: "/d/b"), Step(path: "/d/c"), Step(path: "/d/e"),
    ])
    #expect(answers.suffix(4).map(\.result) == [.fetched, .fetched, .cached, .cached])
  }

  @Test(arguments: ["POST", "PUT", "DELETE", "M-SEARCH"]) func failureInvalidatesNothing(_ method: String) {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=99"]), Step(method: method, status: 500), Step(),
    ])
    #expect(answers[2].result == .cached)
  }

  @Test func otherOriginIsNotInvalidated() {
    let request = CacheRequest(method: "POST", fields: [:])
    let exchange = StoreDecision.Exchange(
      request: request, url: "https://a.example/x",
      head: HTTPResponseHead(
        status: 201, fields: ["Location": "https://b.example/y", "Content-Location": "http://a.example/z"]),
      requestTime: 0, responseTime: 0)
    #expect(StoreDecision.decide(exchange, stored: []) == .invalidate(["https://a.example/x"]))
  }

  // MARK: Storing

  @Test func variantsAreKeptBesideEachOther() {
    let response: HTTPFields = ["Cache-Control": "max-age=99", "Vary": "Foo"]
    let answers = CacheScript.play([
      Step(request: ["Foo": "1"], response: response), Step(request: ["Foo": "2"], response: response),
      Step(request: ["Foo": "1"]), Step(request: ["Foo": "2"]),
    ])
    #expect(answers.map(\.body) == [1, 2, 1, 2])
  }

  @Test func requestThatForbidsStoringStoresNothing() {
    let answers = CacheScript.play([
      Step(request: ["Cache-Control": "no-store"], response: ["Cache-Control": "max-age=99"]), Step(),
    ])
    #expect(answers[1].result == .fetched)
  }

  @Test func answerThatMustNotBeStoredTakesThePlaceOfTheOld() {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=99"]),
      Step(usage: .reload, response: ["Cache-Control": "no-store"]), Step(),
    ])
    #expect(answers[2].result == .fetched)
  }

  @Test(arguments: [(404, true), (410, true), (403, false), (500, false)])
  func answerThatThereIsNothingRemovesTheOld(_ status: Int, _ isRemoved: Bool) {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=99"]), Step(usage: .reload, status: status), Step(),
    ])
    #expect(answers[2].result == (isRemoved ? .fetched : .cached))
  }

  @Test(arguments: [("10", true), ("20", false)])
  func partsOfDifferentTotalsAreNotPutTogether(_ total: String, _ isExtended: Bool) {
    func exchange(_ range: String) -> StoreDecision.Exchange {
      StoreDecision.Exchange(
        request: CacheRequest(method: "GET", fields: ["Range": "bytes=0-"]), url: "http://example.com/",
        head: HTTPResponseHead(
          status: 206, fields: ["Cache-Control": "max-age=99", "ETag": "\"a\"", "Content-Range": range]),
        requestTime: 0, responseTime: 0)
    }
    guard case .store(let first, _) = StoreDecision.decide(exchange("bytes 0-4/10"), stored: []) else {
      Issue.record("The first part is not stored.")
      return
    }
    let decision = StoreDecision.decide(exchange("bytes 5-9/\(total)"), stored: [first])
    let extends = if case .extend = decision { true } else { false }
    #expect(extends == isExtended)
  }

  @Test(arguments: [401, 407, 408, 416, 421, 425, 429]) func statusOfOneRequestIsNotStored(_ status: Int) {
    var script = CacheScript()
    _ = script.play(Step(status: status, response: ["Cache-Control": "max-age=99"]))
    #expect(script.count == 0)
  }

  // MARK: Policies

  @Test(
    arguments: [
      (.protocolRules, .fetched), (.reload, .fetched), (.reloadEverywhere, .fetched), (.preferStored, .cached),
      (.onlyStored, .cached), (.revalidate, .fetched),
    ] as [(CacheUsage, CacheScript.Result)]) func staleResponse(for usage: CacheUsage, is result: CacheScript.Result)
  {
    let answers = CacheScript.play([Step(response: ["Cache-Control": "max-age=1"], pause: 9), Step(usage: usage)])
    #expect(answers[1].result == result)
  }

  @Test func missFailsWhereOnlyTheCacheMayAnswer() {
    let answers = CacheScript.play([
      Step(usage: .onlyStored), Step(request: ["Cache-Control": "only-if-cached"]),
      Step(request: ["Foo": "1"], response: ["Cache-Control": "max-age=9", "Vary": "Foo"]),
      Step(request: ["Foo": "2"], usage: .onlyStored),
    ])
    #expect(answers.map(\.result) == [.failed, .timeout, .fetched, .failed])
    #expect(answers[1].head.status == 504)
  }

  // MARK: Stale answers (RFC 5861)

  @Test func staleResponseAnswersWhileTheOriginIsAsked() {
    let response: HTTPFields = ["Cache-Control": "max-age=1, stale-while-revalidate=4", "ETag": "\"a\""]
    let answers = CacheScript.play([Step(response: response, pause: 3), Step(pause: 3), Step()])
    #expect(answers.map(\.result) == [.fetched, .revalidating, .fetched])
  }

  @Test func staleResponseWithoutAValidatorAnswersToo() {
    let response: HTTPFields = ["Cache-Control": "max-age=1, stale-while-revalidate=4"]
    let answers = CacheScript.play([Step(response: response, pause: 3), Step(pause: 3), Step()])
    #expect(answers.map(\.result) == [.fetched, .revalidating, .fetched])
  }

  @Test func mostRecentResponseStandsInForAnError() {
    let request = CacheRequest(method: "GET", fields: [:])
    let stored = [Int64(100), 300, 200].map { time in
      StoredHead(
        head: HTTPResponseHead(status: 200, fields: ["Cache-Control": "max-age=1, stale-if-error=9999"]),
        url: "http://example.com/", requestTime: time, responseTime: time,
        selecting: SelectingFields(names: [], digest: []))
    }
    #expect(CachedHead.replacementOfError(among: stored, for: request, now: 400) == 1)
  }

  @Test(
    arguments: [
      ("max-age=1, stale-if-error=60", nil, true), ("max-age=1, stale-if-error=1", nil, false),
      ("max-age=1", "stale-if-error=60", true), ("max-age=1", nil, false),
      ("max-age=1, stale-if-error=60, must-revalidate", nil, false), ("no-cache, stale-if-error=60", nil, false),
    ] as [(String, String?, Bool)])
  func staleResponseStandsInForAnError(_ response: String, _ request: String?, _ isUsed: Bool) {
    for isOffline in [true, false] {
      let answers = CacheScript.play([
        Step(response: ["Cache-Control": response, "ETag": "\"a\""], pause: 3),
        Step(request: request.map { ["Cache-Control": $0] } ?? [:], status: 503, isOffline: isOffline),
      ])
      #expect((answers[1].result == .cached) == isUsed)
    }
  }

  // MARK: Age (RFC 9111 §4.2.3, §5.1)

  @Test(
    arguments: [([:], "3"), (["Age": "30"], "33"), (["Date": "@-50"], "53"), (["Age": "9", "Date": "@-5"], "12")]
      as [(HTTPFields, String)]) func answerSaysItsAge(_ fields: HTTPFields, _ age: String)
  {
    var response: HTTPFields = ["Cache-Control": "max-age=600"]
    response.fields += fields.fields
    let answers = CacheScript.play([Step(response: response, pause: 3), Step()])
    #expect(answers[1].head.fields["Age"] == age)
    if fields.contains("Date") { #expect(answers[1].head.fields["Date"] == answers[0].head.fields["Date"]) }
  }

  // MARK: Date (RFC 9110 §6.6.1)

  @Test func storedResponseWithoutADateGetsThatOfItsArrival() {
    let answers = CacheScript.play([
      Step(response: ["Cache-Control": "max-age=60"], pause: 3), Step(),
    ])
    #expect(answers[1].result == .cached)
    #expect(answers[1].head.fields["Date"] == HTTPDate.format(1_700_000_000))
  }

  @Test func confirmationWithoutADateCountsFromItsArrival() {
    let answers = CacheScript.play([
      Step(response: ["Date": "@-60", "Cache-Control": "max-age=10", "ETag": "\"a\""], pause: 3),
      Step(response: ["ETag": "\"a\""], confirms: true, pause: 3), Step(),
    ])
    #expect(answers.map(\.result) == [.fetched, .validated(["If-None-Match": "\"a\""]), .cached])
    #expect(answers[2].head.fields["Date"] == HTTPDate.format(1_700_000_003))
  }
}
