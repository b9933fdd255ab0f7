import SystemServices
import Testing

@testable import urlsession

@Suite struct NetRCTests {
  private static func netrc(_ text: String) -> NetRC { SecretBytes.copy(of: text).withBytes { NetRC($0) } }

  private let file = Self.netrc(
    """
    # a comment with machine words
    machine one.example login ann password p#1
    machine two.example
      login "bob \\"b\\"" password "two words"
      macdef init
    machine evil.example login x password y

    machine two.example login carol password 3
    default login anonymous password me@here
    """)

  @Test func entriesAreFoundByHostAndUser() {
    #expect(
      file.entry(for: "ONE.example") == NetRC.Entry(machine: "one.example", login: "ann", password: .copy(of: "p#1")))
    #expect(file.entry(for: "two.example")?.login == "bob \"b\"")
    #expect(file.entry(for: "two.example")?.password?.text() == "two words")
    #expect(file.entry(for: "two.example", login: "carol")?.password?.text() == "3")
    #expect(file.entry(for: "other.example")?.login == "anonymous")
    #expect(file.entry(for: "other.example", login: "ann") == nil)
    // Inside of a macro nothing is an entry.
    #expect(file.entry(for: "evil.example")?.login == "anonymous")
  }

  @Test(arguments: ["", "login x", "machine", "machine a login", "\"", "macdef"])
  func whatIsCutOffIsRead(_ text: String) {
    #expect(Self.netrc(text).entries.allSatisfy { $0.password == nil })
  }
}
