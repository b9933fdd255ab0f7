import HTTPSemantics
import Testing

@Suite struct HTTP3OfferTableTests {
  private let origin = HTTPOrigin(knownScheme: "https", host: "a.example", port: 443)
  private let other = HTTPOrigin(knownScheme: "https", host: "a.example", port: 444)

  @Test func anOriginIsAskedAboutOnceAMinute() {
    var table = HTTP3OfferTable()
    #expect(table.isEmpty)
    let questions = [100, 159, 160].map { table.ask(for: origin, at: $0) }
    #expect(questions.map { $0 != nil } == [true, false, true])
    #expect(table.port(for: origin, at: 160) == nil)
    let otherQuestion = table.ask(for: other, at: 160)
    #expect(otherQuestion != nil)
    // That of the question before comes too late.
    let isNoted = questions.map { table.note(nil, for: origin, answering: $0 ?? 0, at: 170) }
    #expect(isNoted == [false, false, true])
    let later = [229, 230].map { table.ask(for: origin, at: $0) != nil }
    #expect(later == [false, true])
  }

  private func note(_ offer: HTTP3Offer, of origin: HTTPOrigin, in table: inout HTTP3OfferTable, at now: Int64) {
    if let question = table.ask(for: origin, at: now) { table.note(offer, for: origin, answering: question, at: now) }
  }

  @Test func anOfferHoldsForItsTime() {
    var table = HTTP3OfferTable()
    note(HTTP3Offer(port: 8443, lifetime: 300), of: origin, in: &table, at: 100)
    #expect(table.port(for: origin, at: 399) == 8443 && table.port(for: origin, at: 400) == nil)
    #expect(table.port(for: other, at: 100) == nil)
    let answers = [399, 400].map { table.ask(for: origin, at: $0) != nil }
    #expect(answers == [false, true])
    // An hour at most.
    note(HTTP3Offer(port: 8443, lifetime: .max), of: other, in: &table, at: 0)
    #expect(table.port(for: other, at: 3_599) == 8443 && table.port(for: other, at: 3_600) == nil)
  }

  @Test func anOfferOfNoUseIsWithdrawn() {
    var table = HTTP3OfferTable()
    table.withdraw(origin, at: 100)
    #expect(table.isEmpty)
    note(HTTP3Offer(port: 443, lifetime: 300), of: origin, in: &table, at: 100)
    table.withdraw(origin, at: 100)
    #expect(table.port(for: origin, at: 100) == nil)
    let question = table.ask(for: origin, at: 100)
    #expect(question == nil)
    table.removeAll()
    #expect(table.isEmpty)
  }

  /// By then the network is another one, or HTTP/3 has failed.
  @Test(arguments: [true, false]) func anAnswerFromBeforeChangesNothing(_ isWithdrawn: Bool) {
    var table = HTTP3OfferTable()
    let question = table.ask(for: origin, at: 100) ?? 0
    if isWithdrawn { table.withdraw(origin, at: 101) } else { table.removeAll() }
    let isNoted = table.note(HTTP3Offer(port: 443, lifetime: 300), for: origin, answering: question, at: 102)
    #expect(!isNoted && table.port(for: origin, at: 102) == nil)
    let next = [102, 161].map { table.ask(for: origin, at: $0) != nil }
    #expect(next == (isWithdrawn ? [false, true] : [true, false]))
  }

  @Test func aThousandOriginsAreRemembered() {
    var table = HTTP3OfferTable()
    let origins = (0...1_000).map { HTTPOrigin(knownScheme: "https", host: "\($0).example", port: 443) }
    for origin in origins { note(HTTP3Offer(port: 443, lifetime: 300), of: origin, in: &table, at: 100) }
    #expect(origins.count { table.port(for: $0, at: 100) != nil } == 1_000)
  }
}
