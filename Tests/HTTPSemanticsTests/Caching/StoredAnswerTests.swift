import HTTPSemantics
import Testing

/// Ranges (RFC 9110 §14, RFC 9111 §3.3 and §3.4).
@Suite struct StoredAnswerTests {
  private func stored(_ fields: HTTPFields = [:], part: StoredPart? = nil, length: Int64 = 11) -> StoredHead {
    var head = HTTPResponseHead(status: part == nil ? 200 : 206, fields: ["Cache-Control": "max-age=99", "A": "1"])
    head.fields.fields += fields.fields
    var stored = StoredHead(
      head: head, url: "http://a.example/", requestTime: 0, responseTime: 0,
      selecting: SelectingFields(names: [], digest: []), part: part)
    stored.bodyLength = length
    return stored
  }

  private func decide(_ request: HTTPFields, _ stored: StoredHead) -> CacheDecision {
    CacheDecision.decide(CacheRequest(method: "GET", fields: request), stored: [stored], now: 1)
  }

  @Test(
    arguments: [
      ("bytes=0-1", 0, 1), ("bytes=1-", 1, 10), ("bytes=-1", 10, 10), ("bytes=-99", 0, 10), ("bytes=5-99", 5, 10),
      (" BYTES=0-0 ", 0, 0),
    ] as [(String, Int64, Int64)]) func rangeIsTakenFromAWhole(_ range: String, _ first: Int64, _ last: Int64)
  {
    let answer = StoredAnswer.part(first: first, last: last, total: 11)
    #expect(decide(["Range": range], stored()) == .use(0, answer))
    let head = CachedHead.head(stored(), answer, now: 1)
    #expect(head.status == 206)
    #expect(head.fields["Content-Range"] == "bytes \(first)-\(last)/11")
    #expect(head.fields["Content-Length"] == String(last - first + 1))
    #expect(head.fields["A"] == "1")
  }

  @Test(arguments: [
    "bytes=11-", "bytes=0-1,3-4", "bytes=-0", "bytes=2-1", "lines=0-1", "bytes", "bytes=-", "bytes=a-b",
  ])
  func originIsAskedForOtherRanges(_ range: String) {
    #expect(decide(["Range": range], stored()) == .fetch)
  }

  @Test(
    arguments: [
      ("bytes=4-8", 4, 8), ("bytes=6-7", 6, 7), ("bytes=-1", nil, nil), ("bytes=3-5", nil, nil),
      ("bytes=6-", nil, nil),
    ] as [(String, Int64?, Int64?)]) func rangeIsTakenFromAPart(_ range: String, _ first: Int64?, _ last: Int64?)
  {
    let stored = stored(part: StoredPart(first: 4, last: 8, total: 10), length: 5)
    let expected = first.flatMap { first in last.map { StoredAnswer.part(first: first, last: $0, total: 10) } }
    #expect(decide(["Range": range], stored) == (expected.map { .use(0, $0) } ?? .fetch))
  }

  @Test func codedResponseGivesNoRange() {
    #expect(decide(["Range": "bytes=0-1"], stored(["Content-Encoding": "gzip"])) == .fetch)
  }

  @Test(
    arguments: [
      ("\"a\"", ["ETag": "\"a\""], true), ("\"b\"", ["ETag": "\"a\""], false), ("W/\"a\"", ["ETag": "W/\"a\""], false),
    ] as [(String, HTTPFields, Bool)]) func ifRangeComparesStrongly(_ value: String, _ own: HTTPFields, _ isPart: Bool)
  {
    let decision = decide(["Range": "bytes=0-1", "If-Range": value], stored(own))
    #expect(decision == .use(0, isPart ? .part(first: 0, last: 1, total: 11) : .whole))
  }

  @Test func beginningIsCompletedUnderAStrongTag() {
    let part = StoredPart(first: 0, last: 4, total: 10)
    #expect(
      decide([:], stored(["ETag": "\"a\""], part: part, length: 5))
        == .complete(0, ["Range": "bytes=5-", "If-Range": "\"a\""]))
    #expect(decide([:], stored(["ETag": "W/\"a\""], part: part, length: 5)) == .fetch)
    #expect(decide([:], stored(part: part, length: 5)) == .fetch)
  }

  // MARK: Storing

  private func decideStoring(_ fields: HTTPFields, stored: [StoredHead]) -> StoreDecision {
    let request = CacheRequest(method: "GET", fields: ["Range": "bytes=5-"])
    let exchange = StoreDecision.Exchange(
      request: request, url: "http://a.example/", head: HTTPResponseHead(status: 206, fields: fields), requestTime: 2,
      responseTime: 2)
    return StoreDecision.decide(exchange, stored: stored)
  }

  @Test func partThatContinuesAnotherMakesItWhole() throws {
    let old = stored(["ETag": "\"a\""], part: StoredPart(first: 0, last: 4, total: 10), length: 5)
    let decision = decideStoring(["ETag": "\"a\"", "Content-Range": "bytes 5-9/10"], stored: [old])
    guard case .extend(0, let whole) = decision else {
      Issue.record("\(decision)")
      return
    }
    #expect(whole.part == nil)
    #expect(whole.head.status == 200)
    #expect(whole.head.fields["Content-Length"] == "10")
    #expect(whole.head.fields["Content-Range"] == nil)
    #expect(whole.bodyLength == 10)
  }

  @Test(
    arguments: [
      ["ETag": "\"b\"", "Content-Range": "bytes 5-9/10"], ["ETag": "W/\"a\"", "Content-Range": "bytes 5-9/10"],
      ["ETag": "\"a\"", "Content-Range": "bytes 6-9/10"],
    ] as [HTTPFields]) func otherPartIsNotCombined(_ fields: HTTPFields)
  {
    let old = stored(["ETag": "\"a\""], part: StoredPart(first: 0, last: 4, total: 10), length: 5)
    if case .extend = decideStoring(fields, stored: [old]) { Issue.record("The parts were combined.") }
  }

  @Test(
    arguments: [
      [:], ["Content-Range": "bytes 5-9/10", "Content-Length": "4"], ["Content-Range": "bytes 5-4/10"],
      ["Content-Range": "bytes 5-9/10", "Content-Encoding": "gzip"],
      ["Content-Type": "multipart/byteranges; boundary=a"],
    ] as [HTTPFields]) func partThatDoesNotSayWhichIsNotStored(_ fields: HTTPFields)
  {
    var fields = fields
    fields.append("Cache-Control", "max-age=99")
    #expect(decideStoring(fields, stored: []) == .nothing)
  }
}
