import HTTPSemantics
import Testing

@Suite struct FTPResourceTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let url: String
    /// What is said to the server, one command after the other.
    let commands: String
    var testDescription: String { url }
  }

  private static let anonymous = "USER anonymous|PASS anonymous@|"

  @Test(arguments: [
    Row(url: "ftp://h/a.txt", commands: anonymous + "TYPE I|SIZE a.txt|RETR a.txt"),
    Row(url: "FTP://h:2121/a/b/c", commands: anonymous + "CWD a|CWD b|TYPE I|SIZE c|RETR c"),
    Row(url: "ftp://h", commands: anonymous + "TYPE A|LIST"), Row(url: "ftp://h/", commands: anonymous + "TYPE A|LIST"),
    Row(url: "ftp://h/a/", commands: anonymous + "CWD a|TYPE A|LIST"),
    Row(url: "ftp://h/a/b;type=d", commands: anonymous + "CWD a|CWD b|TYPE A|NLST"),
    Row(url: "ftp://h/a;type=a", commands: anonymous + "TYPE A|RETR a"),
    Row(url: "ftp://h/a;TYPE=I", commands: anonymous + "TYPE I|SIZE a|RETR a"),
    Row(url: "ftp://h/a;b", commands: anonymous + "TYPE I|SIZE a;b|RETR a;b"),
    // An escaped slash is part of a name: from the root, with one step.
    Row(url: "ftp://h/%2Fetc/motd", commands: anonymous + "CWD /etc|TYPE I|SIZE motd|RETR motd"),
    Row(url: "ftp://h//etc/motd", commands: anonymous + "CWD /|CWD etc|TYPE I|SIZE motd|RETR motd"),
    Row(url: "ftp://h/a//b", commands: anonymous + "CWD a|TYPE I|SIZE b|RETR b"),
    Row(url: "ftp://h/a%20b?c#d", commands: anonymous + "TYPE I|SIZE a b?c|RETR a b?c"),
    Row(url: "ftp://h/%zz", commands: anonymous + "TYPE I|SIZE %zz|RETR %zz"),
    Row(url: "ftp://h/../x", commands: anonymous + "CWD ..|TYPE I|SIZE x|RETR x"),
    Row(url: "ftp://me:pa%3Ass@h/a", commands: "USER me|PASS pa:ss|TYPE I|SIZE a|RETR a"),
    Row(url: "ftp://me@h/a", commands: "USER me|PASS |TYPE I|SIZE a|RETR a"),
    Row(url: "ftp://me%40work:x:y@h/a", commands: "USER me@work|PASS x:y|TYPE I|SIZE a|RETR a"),
  ])
  func urlBecomesCommands(row: Row) throws {
    let resource = try FTPResource(parsing: row.url)
    let commands =
      [resource.login.user, FTPCommand(FTPLogin.passwordVerb, resource.login.withPassword { Array($0) })]
      + resource.steps + [resource.type]
      + (resource.size.map { [$0] } ?? []) + [resource.retrieval]
    let lines = try commands.map { String(decoding: try #require($0.line).dropLast(2), as: UTF8.self) }
    #expect(lines.joined(separator: "|") == row.commands)
  }

  @Test(
    arguments: [
      ("ftp://h/a%0D%0ADELE%20b", .lineEnd), ("ftp://h/a%0ab/c", .lineEnd), ("ftp://h/a%00", .lineEnd),
      ("ftp://me%0d:x@h/", .lineEnd), ("ftp://me:x%0a@h/", .lineEnd), ("ftp://h/a;type=x", .unknownType),
      ("ftp://h/a;type=", .unknownType), ("ftp://h/a;type=ai", .unknownType), ("http://h/a", .notAnFTPURL),
      ("ftp:/h/a", .notAnFTPURL), ("ftp:", .notAnFTPURL), ("", .notAnFTPURL),
    ] as [(String, FTPResource.Malformation)])
  func invalidURLsAreRefused(url: String, error: FTPResource.Malformation) {
    #expect(throws: error) { _ = try FTPResource(parsing: url) }
    #expect(!error.sentence.isEmpty)
  }

  @Test func argumentWithALineEndIsRefused() {
    #expect(FTPCommand("RETR", Array("a\r\nDELE b".utf8)).line == nil)
    #expect(FTPCommand("RETR", [0]).line == nil)
    #expect(FTPCommand("QUIT").line == Array("QUIT\r\n".utf8))
  }

  @Test func portCommandsNameTheAddress() throws {
    let four = try #require(IPAddressText("127.0.0.1"))
    let six = try #require(IPAddressText("2001:db8::1"))
    #expect(FTPCommand.extendedPort(four, "127.0.0.1", 1_025).line == Array("EPRT |1|127.0.0.1|1025|\r\n".utf8))
    #expect(FTPCommand.extendedPort(six, "2001:db8::1", 65_535).line == Array("EPRT |2|2001:db8::1|65535|\r\n".utf8))
    #expect(FTPCommand.port(four, 1_025)?.line == Array("PORT 127,0,0,1,4,1\r\n".utf8))
    #expect(FTPCommand.port(six, 1_025) == nil)
  }

  @Test(arguments: [
    ("/a/b.txt;type=a", "/a/b.txt"), ("/a/b.txt", "/a/b.txt"), ("/a;type=zip", "/a;type=zip"), ("/a;b", "/a;b"),
  ])
  func pathNamesTheFile(path: String, expected: String) { #expect(FTPResource.withoutType(path) == expected) }

  // MARK: What replies mean

  @Test(
    arguments: [
      (421, "later", .greeting, "unavailable"), (500, "OOPS", .greeting, "unavailable"),
      (331, "what?", .greeting, "unsuitable"), (530, "no", .login, "notLoggedIn"), (430, "no", .login, "notLoggedIn"),
      (332, "account", .login, "notLoggedIn"), (500, "USER what?", .login, "notLoggedIn"),
      (421, "closing", .login, "aborted"), (550, "No such file or directory", .name, "notFound"),
      (550, "Failed to open file.", .name, "notFound"), (550, "Permission denied.", .name, "forbidden"),
      (550, "a: Operation not allowed", .name, "forbidden"), (553, "name not allowed", .name, "forbidden"),
      (550, "permission.txt: not found", .name, "notFound"), (450, "No files found", .name, "notFound"),
      (530, "log in first", .name, "notLoggedIn"), (425, "Can't open data connection", .name, "aborted"),
      (502, "not implemented", .name, "unsuitable"), (500, "what?", .other("PASV"), "unsuitable"),
      (200, "fine", .other("PASV"), "unsuitable"), (426, "closed", .end, "aborted"), (451, "disk", .end, "aborted"),
      (550, "gone", .end, "aborted"), (421, "closing", .other("SIZE"), "aborted"),
    ] as [(Int, String, FTPFailure.Question, String)])
  func repliesMapToFailures(code: Int, text: String, question: FTPFailure.Question, meaning: String) {
    let failure = FTPFailure(FTPReply(code: code, lines: [Array(text.utf8)]), to: question)
    #expect("\(failure)".hasPrefix(meaning), "\(failure)")
    #expect(failure.phrase.contains("\(code) \(text.hasSuffix(".") ? String(text.dropLast()) : text)"))
  }

  @Test(arguments: [(500, true), (502, true), (250, false), (504, false)])
  func aCommandThatIsNotKnownIsSaid(code: Int, isUnknown: Bool) {
    let phrase = FTPFailure(FTPReply(code: code, lines: [Array("what?".utf8)]), to: .name).phrase
    #expect(phrase.contains("does not know a command") == isUnknown)
  }

  /// Of replies that mean no login, those after which another user name or password may be accepted.
  @Test(arguments: [(530, true), (430, true), (332, false), (532, false), (500, false), (421, false)])
  func refusedLogins(code: Int, isRefused: Bool) {
    #expect(FTPFailure(FTPReply(code: code, lines: []), to: .login).isRefusedLogin == isRefused)
  }

  @Test(arguments: [("a\r\nb", ""), ("", "a\nb"), ("a\0", "")]) func noLoginEndsACommand(user: String, password: String)
  {
    #expect(FTPLogin(user: Array(user.utf8), password: Array(password.utf8)) == nil)
  }
}
