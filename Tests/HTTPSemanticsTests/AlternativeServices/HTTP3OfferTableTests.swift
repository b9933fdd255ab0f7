import HTTPSemantics
import Testing

@Suite struct HTTP3OfferTableTests {
  private let origin = HTTPOrigin(knownScheme: "https", host: "a.example", port: 443)
  private let other = HTTPOrigin(knownScheme: "https", host: "a.example", port: 444)

  @Test func anOriginIsAskedAboutOnceAMinute() {
    var table = HTTP3OfferTable()
    #expect(table.isEmpty)
    let answers = [100, 159, 160].map { table.mayAsk(for: origin, at: $0) }
    #expect(answers == [true, false, true])
    #expect(table.port(for: origin, at: 160) == nil)
    let isOtherAsked = table.mayAsk(for: other, at: 160)
    #expect(isOtherAsked)
    table.note(nil, for: origin, at: 170)
    let later = [229, 230].map { table.mayAsk(for: origin, at: $0) }
    #expect(later == [false, true])
  }

  @Test func anOfferHoldsForItsTime() {
    var table = HTTP3OfferTable()
    table.note(HTTP3Offer(port: 8443, lifetime: 300), for: origin, at: 100)
    #expect(table.port(for: origin, at: 399) == 8443 && table.port(for: origin, at: 400) == nil)
    #expect(table.port(for: other, at: 100) == nil)
    let answers = [399, 400].map { table.mayAsk(for: origin, at: $0) }
    #expect(answers == [false, true])
    // A day at most.
    table.note(HTTP3Offer(port: 8443, lifetime: .max), for: origin, at: 0)
    #expect(table.port(for: origin, at: 3_599) == 8443 && table.port(for: origin, at: 3_600) == nil)
  }

  @Test func anOfferOfNoUseIsWithdrawn() {
    var table = HTTP3OfferTable()
    table.withdraw(origin, at: 100)
    #expect(table.isEmpty)
    table.note(HTTP3Offer(port: 443, lifetime: 300), for: origin, at: 100)
    table.withdraw(origin, at: 100)
    #expect(table.port(for: origin, at: 100) == nil)
    let mayAsk = table.mayAsk(for: origin, at: 100)
    #expect(!mayAsk)
    table.removeAll()
    #expect(table.isEmpty)
  }

  @Test func aThousandOriginsAreRemembered() {
    var table = HTTP3OfferTable()
    let origins = (0...1_000).map { HTTPOrigin(knownScheme: "https", host: "\($0).example", port: 443) }
    for origin in origins { table.note(HTTP3Offer(port: 443, lifetime: 300), for: origin, at: 100) }
    #expect(origins.count { table.port(for: $0, at: 100) != nil } == 1_000)
  }
}
