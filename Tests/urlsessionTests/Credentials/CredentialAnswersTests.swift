import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@testable import urlsession

@Suite struct CredentialAnswersTests {
  private static func challenge(
    _ host: String, _ port: Int, _ scheme: String = "http", failures: Int = 0
  ) -> URLAuthenticationChallenge {
    let space = URLProtectionSpace(
      host: host, port: port, protocol: scheme, realm: "r", authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    return URLAuthenticationChallenge(protectionSpace: space, previousFailureCount: failures)
  }

  struct Row: Sendable {
    let url: String
    let host: String
    let port: Int
    var scheme = "http"
    let isGiven: Bool
  }

  /// The password of a file is for the server that the URL names.
  @Test(arguments: [
    Row(url: "http://a.example/x", host: "a.example", port: 80, isGiven: true),
    Row(url: "http://A.example:8080/", host: "a.example", port: 8080, isGiven: true),
    Row(url: "http://a.example:8080/", host: "a.example", port: 80, isGiven: false),
    Row(url: "http://a.example/", host: "a.example", port: 443, scheme: "https", isGiven: true),
    Row(url: "https://a.example/", host: "a.example", port: 80, isGiven: false),
    Row(url: "http://a.example/", host: "b.example", port: 80, isGiven: false),
    Row(url: "https://a.example/", host: "a.example", port: 8443, scheme: "https", isGiven: false),
    Row(url: "https://a.example:8443/", host: "a.example", port: 8443, scheme: "https", isGiven: true),
    Row(url: "http://a.example:8080/", host: "a.example", port: 8080, scheme: "https", isGiven: true),
    Row(url: "http://a.example:8080/", host: "a.example", port: 8443, scheme: "https", isGiven: false),
    Row(url: "ftp://a.example/", host: "a.example", port: 21, scheme: "ftp", isGiven: true),
  ]) func aPasswordIsForTheServerOfTheURL(row: Row) throws {
    let asked = Recorder<String>()
    let answers = CredentialAnswers(for: try #require(URL(string: row.url)), user: "ann", password: .copy(of: "p")) {
      asked.record($0)
      return nil
    }
    let answer = answers.answer(to: Self.challenge(row.host, row.port, row.scheme))
    #expect((answer.credential?.password == "p") == row.isGiven)
    // A person can still say another one.
    #expect(asked.all.count == (row.isGiven ? 0 : 1))
  }

  /// A proxy gets a proof of the password, and not the password of the server.
  @Test(arguments: [
    (NSURLAuthenticationMethodHTTPBasic, false), (NSURLAuthenticationMethodDefault, false),
    (NSURLAuthenticationMethodBearer, false), (NSURLAuthenticationMethodHTTPDigest, true),
    (NSURLAuthenticationMethodNTLM, true),
  ])
  func aProxyIsNotToldThePassword(method: String, isGiven: Bool) throws {
    let asked = Recorder<String>()
    let answers = CredentialAnswers(
      for: try #require(URL(string: "https://a.example/")), user: "ann", password: .copy(of: "p")
    ) {
      asked.record($0)
      return nil
    }
    let space = URLProtectionSpace(
      proxyHost: "p.example", port: 3128, type: NSURLProtectionSpaceHTTPSProxy, realm: "r", authenticationMethod: method
    )
    let answer = answers.answer(to: URLAuthenticationChallenge(protectionSpace: space))
    #expect((answer.credential?.password == "p") == isGiven)
    #expect(asked.all == (isGiven ? [] : ["Password of ann for the proxy p.example: "]))
  }

  /// `user` is of the server where the proxy's URL says who asks the proxy.
  @Test(arguments: [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest])
  func theUserOfAProxysURLAsksTheProxy(method: String) throws {
    let asked = Recorder<String>()
    let answers = CredentialAnswers(
      for: try #require(URL(string: "http://a.example/")), user: "ann", password: .copy(of: "p")
    ) {
      asked.record($0)
      return nil
    }
    let space = URLProtectionSpace(
      proxyHost: "p.example", port: 3128, type: NSURLProtectionSpaceHTTPProxy, realm: "r", authenticationMethod: method)
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: URLCredential(user: "bob", password: "q", persistence: .none))
    let answer = answers.answer(to: challenge)
    #expect(answer.disposition == .performDefaultHandling && answer.credential == nil && asked.all.isEmpty)
  }

  @Test(arguments: [
    ("http://a.example/", "a.example", "--password-file"), ("http://a.example/", "b.example", "--netrc"),
  ]) func withoutATerminalTheOptionsAreNamed(url: String, host: String, option: String) throws {
    let answers = CredentialAnswers(for: try #require(URL(string: url)), user: "ann") {
      _ throws(PasswordPrompt.NoTerminal) in
      throw PasswordPrompt.NoTerminal()
    }
    #expect(answers.advice(for: 401) == nil)
    #expect(answers.answer(to: Self.challenge(host, 80)).credential == nil)
    let advice = try #require(answers.advice(for: 401))
    #expect(advice.contains("no terminal") && advice.contains("ann") && advice.contains(option), "\(advice)")
    #expect(answers.advice(for: 404) == nil)
  }

  /// Without the user's password an FTP server would be told the anonymous user.
  @Test func anFTPServerIsNotAskedWithoutATerminal() throws {
    let answers = CredentialAnswers(for: try #require(URL(string: "ftp://a.example/x")), user: "ann") {
      _ throws(PasswordPrompt.NoTerminal) in
      throw PasswordPrompt.NoTerminal()
    }
    let failure = try #require(throws: CommandFailure.self) { _ = try answers.login() }
    #expect(failure.status == .usage && failure.advice.contains("--password-file"), "\(failure.line)")
  }

  @Test func eachServerIsAskedAboutOnce() throws {
    let asked = Recorder<String>()
    let answers = CredentialAnswers(for: try #require(URL(string: "http://a.example/")), user: "ann") {
      asked.record($0)
      return .copy(of: "of \($0)")
    }
    let hosts = ["a.example", "b.example", "a.example"]
    let passwords = hosts.map { answers.answer(to: Self.challenge($0, 80)).credential?.password }
    #expect(asked.all.count == 2 && passwords[0] == passwords[2] && passwords[0] != passwords[1])
    // The same again would be refused again.
    #expect(answers.answer(to: Self.challenge("a.example", 80, failures: 1)).disposition == .performDefaultHandling)
  }
}
