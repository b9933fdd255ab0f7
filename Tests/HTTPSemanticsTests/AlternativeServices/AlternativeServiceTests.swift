import HTTPSemantics
import Testing

@Suite struct AlternativeServiceTests {
  private typealias Service = AlternativeService

  private static func service(
    _ name: String, _ host: String?, _ port: Int, maxAge: Int64 = 86_400, persists: Bool = false
  ) -> AlternativeService {
    var service = AlternativeService(protocolName: name, host: host, port: port)
    service.maxAge = maxAge
    service.persists = persists
    return service
  }

  @Test(
    arguments: [
      ("h3=\":443\"", [service("h3", nil, 443)]),
      (
        "h3=\":443\"; ma=3600, h2=\"alt.Example:8443\";persist=1",
        [
          service("h3", nil, 443, maxAge: 3_600), service("h2", "alt.example", 8_443, persists: true),
        ]
      ),
      ("h3-29=\":1\"; ma=x; v=\"46,43\"", [service("h3-29", nil, 1)]), ("w%3Dx%3Ay=\":1\"", [service("w=x:y", nil, 1)]),
      ("h3=\"[::1]:443\"", [service("h3", "::1", 443)]), ("h3=\":443\", broken, h2=\"x\"", [service("h3", nil, 443)]),
      ("h3=\":0\"", nil), ("h3", nil), ("", nil), ("Clear", nil), ("h%3=\":1\"", nil), ("=\":1\"", nil),
    ] as [(String, [AlternativeService]?)])
  func alternativesAreParsed(value: String, services: [AlternativeService]?) {
    #expect(AlternativeService.read(value) == services.map { .services($0) })
  }

  @Test func clearIsParsed() { #expect(AlternativeService.read(" clear ") == .clear) }

  private let origin = HTTPOrigin(knownScheme: "https", host: "a.example", port: 443)
  private let other = HTTPOrigin(knownScheme: "https", host: "b.example", port: 443)

  @Test func alternativeIsKeptUntilItExpires() {
    var table = AlternativeServiceTable()
    table.note("h3=\":443\"; ma=100", from: origin, age: 40, at: 1_000)
    #expect(table.services(for: origin, at: 1_059).map(\.port) == [443])
    #expect(table.services(for: origin, at: 1_060).isEmpty)
    #expect(table.services(for: other, at: 1_000).isEmpty)
    table.note("h3=\":443\"; ma=9223372036854775807", from: origin, at: 1_000)
    #expect(table.services(for: origin, at: .max - 1).count == 1)
    table.note("h3=\":443\"; ma=10", from: origin, age: 10, at: 1_000)
    #expect(table.isEmpty)
  }

  @Test func newAnnouncementReplacesTheOldAndClearRemovesAll() {
    var table = AlternativeServiceTable()
    table.note("h3=\":443\"", from: origin, at: 0)
    table.note("h3=\":444\"; persist=1", from: origin, at: 0)
    table.note("h3=\":445\"", from: other, at: 0)
    #expect(table.services(for: origin, at: 1).map(\.port) == [444])
    table.note("nonsense", from: origin, at: 0)
    #expect(table.services(for: origin, at: 1).map(\.port) == [444])
    table.networkChanged()
    #expect(table.services(for: origin, at: 1).count == 1 && table.services(for: other, at: 1).isEmpty)
    table.note("clear", from: origin, at: 0)
    #expect(table.isEmpty)
    table.note("h3=\":443\"", from: origin, at: 0)
    table.forget(origin)
    #expect(table.isEmpty)
  }

  @Test func numberOfOriginsIsLimited() {
    var table = AlternativeServiceTable()
    let origins = (0..<1_500).map { HTTPOrigin(knownScheme: "https", host: "h\($0)", port: 443) }
    for origin in origins { table.note("h3=\":443\"", from: origin, at: 0) }
    #expect(origins.filter { !table.services(for: $0, at: 1).isEmpty }.count <= 1_000)
  }
}
