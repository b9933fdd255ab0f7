import Testing

@testable import TransferProtocol

@Suite struct PasswordURLTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let text: String
    let url: String
    let password: String?
    var testDescription: String { text }

    init(_ text: String, _ url: String? = nil, _ password: String? = nil) {
      (self.text, self.url, self.password) = (text, url ?? text, password)
    }
  }

  static let rows = [
    Row("http://h/"), Row("http://ann@h/"), Row("http://h:80/a:b@c"), Row("http://h?x=a:b@c"), Row("http://h#a:b@c"),
    Row(""), Row("a:b@h"), Row("mailto:a:b@h"), Row("http://[::1]:80/"),
    Row("http://ann:p@h/", "http://ann@h/", "p"), Row("https://ann:p@h:8/a?b#c", "https://ann@h:8/a?b#c", "p"),
    Row("http://ann:a:b@h", "http://ann@h", "a:b"), Row("http://:p@h/", "http://@h/", "p"),
    Row("http://ann:@h/", "http://ann@h/", ""), Row("http://ann:a@b@h/", "http://ann@h/", "a@b"),
    Row("http://%41:%3A%C3%A4@h/", "http://%41@h/", "%3A%C3%A4"),
    Row("http://ann:p@[::1]:80/", "http://ann@[::1]:80/", "p"),
  ]

  @Test(arguments: rows) func thePasswordIsTakenOutAndPutBack(_ row: Row) {
    let parts = PasswordURL(row.text)
    #expect(parts.url == row.url && parts.password == row.password)
    #expect(parts.password.map { PasswordURL.adding($0, to: parts.url) } ?? parts.url == row.text)
  }

  @Test func aURLWithoutAUserTakesNoPassword() {
    #expect(PasswordURL.adding("p", to: "http://h/") == "http://h/")
  }
}
