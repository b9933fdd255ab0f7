import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// Servers that people run, set up to ask who is there.
@Suite(.fewAtATime, .enabled(if: ServerSite.areAllHere, "\(ServerSite.advice)"))
struct AuthenticationServerTests {
  private let passwordFiles = PasswordFiles()

  private final class Answerer: NSObject, URLSessionTaskDelegate {
    let asked = Recorder<URLAuthenticationChallenge>()
    let password: String

    init(_ password: String) { self.password = password }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
      guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
      asked.record(challenge)
      guard challenge.previousFailureCount == 0 else { return (.performDefaultHandling, nil) }
      return (.useCredential, URLCredential(user: "änn", password: password, persistence: .forSession))
    }
  }

  private func session(_ delegate: Answerer) throws -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(try TestCertificates.shared().authorityFile)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private func expectAnswers(from server: RealServer, _ method: String) async throws {
    try "for members".write(toFile: server.documentRoot + "/members.txt", atomically: false, encoding: .utf8)
    let right = Answerer("p:ss wörd")
    let known = try session(right)
    for _ in 0..<3 {
      let (data, response) = try await known.data(from: server.secureURL("/members.txt"))
      #expect((response as? HTTPURLResponse)?.statusCode == 200 && data == Data("for members".utf8))
    }
    #expect(right.asked.all.map(\.protectionSpace.authenticationMethod) == [method])
    #expect(right.asked.all.first?.protectionSpace.realm == "members")
    known.invalidateAndCancel()
    let wrong = Answerer("wrong")
    let unknown = try session(wrong)
    let (_, response) = try await unknown.data(from: server.secureURL("/members.txt"))
    #expect((response as? HTTPURLResponse)?.statusCode == 401)
    #expect(wrong.asked.all.map(\.previousFailureCount) == [0, 1])
    unknown.invalidateAndCancel()
    await server.stop()
  }

  private func tls() throws -> TLSFiles {
    let identity = try TestCertificates.shared().localhost
    return TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
  }

  private func passwordFile(_ line: String) throws -> String { try passwordFiles.make(line) }

  /// SHA-1 of "p:ss wörd", as `htpasswd -s` writes it.
  private static let basicLine = "änn:{SHA}399krMU+4UceMURP+SuAz3WFPxk="
  /// MD5 of "änn:members:p:ss wörd", as `htdigest` writes it.
  private static let digestLine = "änn:members:bfac6f8ef53a4b6cf2265ebfd59f8ee7"

  @Test func apacheAsksForBasic() async throws {
    let file = try passwordFile(Self.basicLine)
    let server = try await Apache.start(
      tls: try tls(), modules: ["auth_basic", "authn_file", "authz_user"],
      extra: """
        <Location "/">
          AuthType Basic
          AuthName "members"
          AuthUserFile "\(file)"
          Require valid-user
        </Location>
        """)
    try await expectAnswers(from: server, NSURLAuthenticationMethodHTTPBasic)
  }

  @Test func apacheAsksForDigest() async throws {
    let file = try passwordFile(Self.digestLine)
    let server = try await Apache.start(
      tls: try tls(), modules: ["auth_digest", "authn_file", "authz_user"],
      extra: """
        <Location "/">
          AuthType Digest
          AuthName "members"
          AuthDigestDomain "/"
          AuthUserFile "\(file)"
          Require valid-user
        </Location>
        """)
    try await expectAnswers(from: server, NSURLAuthenticationMethodHTTPDigest)
  }

  /// SHA-256 of "änn:members:p:ss wörd".
  private static let digestLineOfSHA256 =
    "änn:members:92301b550723b680b078654db4accef6b2eae0a5b282138dd0d2302653ce9705"

  @Test(.enabled(if: InstalledServer.lighttpd.runsHere, "\(InstalledServer.lighttpd.advice)"))
  func lighttpdAsksForDigestWithSHA256() async throws {
    let server = try await Lighttpd.start(users: [Self.digestLineOfSHA256], realm: "members")
    try await expectAnswers(from: server, NSURLAuthenticationMethodHTTPDigest)
  }

  @Test func nginxAsksForBasic() async throws {
    let file = try passwordFile(Self.basicLine)
    let server = try await Nginx.start(
      tls: try tls(), extra: "auth_basic \"members\"; auth_basic_user_file \"\(file)\";")
    try await expectAnswers(from: server, NSURLAuthenticationMethodHTTPBasic)
  }

  // MARK: NTLM

  /// The Debian packages `libapache2-mod-auth-gssapi` and `gss-ntlmssp`.
  private static let hasNTLM =
    FileManager.default.fileExists(atPath: "/etc/gss/mech.d/mech.ntlmssp.conf")
    || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty

  /// Wants NTLM of one user, and leaves Negotiate out, which the server offers first.
  private final class NTLMUser: NSObject, URLSessionDelegate {
    let asked = Recorder<URLAuthenticationChallenge>()
    let credential: URLCredential

    init(_ user: String, _ password: String) {
      credential = URLCredential(user: user, password: password, persistence: .forSession)
    }

    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
      guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodNTLM else {
        return (.rejectProtectionSpace, nil)
      }
      asked.record(challenge)
      return challenge.previousFailureCount == 0 ? (.useCredential, credential) : (.performDefaultHandling, nil)
    }
  }

  private func startNTLM() async throws -> RealServer {
    let users = try passwordFile("TEST:ann:one\nTEST:bob:two")
    let server = try await Apache.start(
      modules: ["authz_user", "auth_gssapi"],
      extra: """
        <Location "/">
          AuthType GSSAPI
          AuthName "members"
          GssapiAllowedMech ntlmssp
          GssapiConnectionBound On
          Require valid-user
        </Location>
        """, environment: ["NTLM_USER_FILE": users])
    try "for members".write(toFile: server.documentRoot + "/members.txt", atomically: false, encoding: .utf8)
    return server
  }

  @Test(.enabled(if: hasNTLM, "gss-ntlmssp is missing: apt-get install gss-ntlmssp libapache2-mod-auth-gssapi"))
  func apacheAsksForNTLM() async throws {
    let server = try await startNTLM()
    let users = [NTLMUser("TEST\\ann", "one"), NTLMUser("bob", "two")]
    let sessions = users.map { user in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.urlCache = nil
      return URLSession(configuration: configuration, delegate: user, delegateQueue: nil)
    }
    // Two users at once: each connection speaks for one of them.
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<40 {
        let url = server.url("/members.txt?of-\(number % 2 == 0 ? "first" : "second")")
        group.addTask {
          let (data, response) = try await sessions[number % 2].data(from: url)
          return (response as? HTTPURLResponse)?.statusCode == 200 && data == Data("for members".utf8)
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
    var lines: [Substring] = []
    // A line follows its response.
    try await eventually("a line of each response in the log") {
      lines = server.accessLog.split(separator: "\n").filter { $0.contains("\" 200 ") }
      return lines.count >= 40
    }
    for line in lines {
      #expect(line.contains("of-first") ? line.contains("ann") : line.contains("bob"), "\(line)")
    }
    for session in sessions { session.invalidateAndCancel() }
    await server.stop()
  }

  @Test(.enabled(if: hasNTLM, "gss-ntlmssp is missing: apt-get install gss-ntlmssp libapache2-mod-auth-gssapi"))
  func apacheRefusesAWrongPasswordOfNTLM() async throws {
    let server = try await startNTLM()
    let user = NTLMUser("bob", "wrong")
    let session = URLSession(configuration: .ephemeral, delegate: user, delegateQueue: nil)
    let (_, response) = try await session.data(from: server.url("/members.txt"))
    #expect((response as? HTTPURLResponse)?.statusCode == 401)
    #expect(user.asked.all.map(\.previousFailureCount) == [0, 1])
    session.invalidateAndCancel()
    await server.stop()
  }
}
