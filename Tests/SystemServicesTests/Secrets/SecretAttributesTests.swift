import Testing

@testable import SystemServices

@Suite struct SecretAttributesTests {
  private static let item = SecretAttributes([.server: "example.org", .port: "443", .user: "ada"])

  static let queries: [(query: [SecretAttributes.Name: String], matches: Bool)] = [
    ([:], true), ([.server: "example.org"], true), ([.server: "example.org", .user: "ada"], true),
    ([.server: "example.com"], false), ([.realm: "r"], false), ([.realm: ""], true), ([.user: ""], false),
  ]

  @Test(arguments: queries.indices)
  func queryMatchesItemsThatHaveAllOfIt(index: Int) {
    let (query, matches) = Self.queries[index]
    #expect(Self.item.matches(SecretAttributes(query)) == matches)
  }

  @Test func storesSeeEveryNameAndItemsOnlyTheirOwn() {
    let complete = Self.item.complete
    #expect(complete.map(\.name) == ["server", "port", "protocol", "realm", "authentication", "proxy-type", "user"])
    #expect(SecretAttributes(ofItem: complete + [("xdg:schema", "other")]) == Self.item)
  }

  @Test(
    arguments: [
      ([.server: "example.org", .port: "443", .user: "ada"], "ada@example.org:443"),
      ([.server: "example.org"], "example.org"), ([.user: "ada"], "ada@URL credential"),
    ] as [([SecretAttributes.Name: String], String)])
  func labelNamesUserAndServer(_ values: [SecretAttributes.Name: String], _ label: String) {
    #expect(SecretAttributes(values).label == label)
  }
}
