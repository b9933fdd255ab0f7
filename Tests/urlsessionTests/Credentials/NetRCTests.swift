import Foundation
import SystemServices
import Testing

@testable import urlsession

@Suite struct NetRCTests {
  private static func netrc(_ text: String) throws -> NetRC {
    try SecretBytes.copy(of: text).withBytes { try NetRC($0) }
  }

  private let file: NetRC

  init() throws { file = try Self.netrc(Self.text) }

  private static let text = """
    # a comment with machine words
    machine one.example login ann password p#1
    machine two.example
      login "bob \\"b\\"" password "two words"
      macdef init
    machine evil.example login x password y

    machine two.example login carol password 3
    default login anonymous password me@here
    """

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

  @Test(arguments: ["", "macdef", "machine a", "machine a port 21", "# machine"])
  func whatNamesNoPasswordIsRead(_ text: String) throws {
    #expect(try Self.netrc(text).entries.allSatisfy { $0.password == nil })
  }

  @Test(
    arguments: [
      ("machine", 1, .noValue(of: "machine")), ("\nmachine a login", 2, .noValue(of: "login")),
      ("machine a\nlogin ann\npassword\nmachine b", 3, .noValue(of: "password")),
      ("machine a login\n  password x", 1, .noValue(of: "login")),
      ("# login\nlogin x", 2, .noEntry(for: "login")), ("password x machine a", 1, .noEntry(for: "password")),
      ("machine a\n\n  login \"ann\n password x", 3, .openQuote),
    ] as [(String, Int, NetRC.Damage.Kind)])
  func damageIsFoundOnItsLine(_ text: String, _ line: Int, _ kind: NetRC.Damage.Kind) {
    #expect(throws: NetRC.Damage(line: line, kind: kind)) { try Self.netrc(text) }
  }

  /// A word that a host or a user has for a name stands on the line of its keyword.
  @Test func aNameMayBeAWordOfTheFile() throws {
    let file = try Self.netrc("machine login login password password machine")
    #expect(file.entries == [NetRC.Entry(machine: "login", login: "password", password: .copy(of: "machine"))])
  }

  @Test func damageIsToldWithFileAndLineAndWithoutThePassword() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/netrc"
    try Data("machine a login ann\npassword \"s3cret\n".utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    let failure = try #require(throws: CommandFailure.self) { try NetRC.read(path) }
    #expect(failure.status == .usage && failure.what.contains("\(path), line 2: "), "\(failure.line)")
    #expect(!failure.line.contains("s3cret"))
  }
}
