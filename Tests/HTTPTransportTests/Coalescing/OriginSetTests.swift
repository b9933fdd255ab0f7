import HTTPSemantics
import HTTPTransport
import Testing

/// RFC 8336 §2.3.
@Suite struct OriginSetTests {
  private let first = HTTPOrigin(knownScheme: "https", host: "first.example", port: 443)

  private func other(_ port: Int = 443) -> HTTPOrigin {
    HTTPOrigin(knownScheme: "https", host: "other.example", port: port)
  }

  @Test func itBeginsWithTheConnectionsOwnOrigin() {
    let set = OriginSet(first)
    #expect(set.contains(first) && !set.contains(other()))
  }

  @Test(arguments: [
    ("https://other.example", 443, true), ("https://other.example:443", 443, true),
    ("HTTPS://OTHER.example", 443, true), ("https://other.example:8443", 8_443, true),
    ("https://other.example:8443", 443, false), ("http://other.example", 443, false), ("other.example", 443, false),
    ("https://other.example/", 443, false), ("https://other.example?q", 443, false),
    ("https://user@other.example", 443, false), ("", 443, false), ("https://", 443, false), ("null", 443, false),
  ])
  func entriesAreOriginsOfHTTPS(_ entry: String, _ port: Int, _ isListed: Bool) {
    var set = OriginSet(first)
    set.add([entry])
    #expect(set.contains(other(port)) == isListed && set.contains(first))
  }

  @Test func aListWithoutEndIsCut() {
    var set = OriginSet(first)
    set.add((0..<5_000).map { "https://\($0).example" })
    #expect(set.contains(HTTPOrigin(knownScheme: "https", host: "500.example", port: 443)))
    #expect(!set.contains(HTTPOrigin(knownScheme: "https", host: "4999.example", port: 443)))
  }
}
