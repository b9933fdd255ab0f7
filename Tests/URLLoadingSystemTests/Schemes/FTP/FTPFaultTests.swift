import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct FTPFaultTests {
  private func failure(
    of script: FTPScript, path: String = "/pub/a.txt", timeout: TimeInterval = 60
  ) async throws -> URLError {
    var failure: URLError?
    try await withFTP(script, configure: { $0.timeoutIntervalForRequest = timeout }) { server, session, _ in
      let url = try server.url(path)
      failure = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(failure?.failingURL == url)
    }
    return try #require(failure)
  }

  @Test(
    arguments: [
      ("USER", "530 not you\r\n", .userAuthenticationRequired), ("PASS", "530 wrong\r\n", .userAuthenticationRequired),
      ("PASS", "332 account?\r\n", .userAuthenticationRequired), ("PASS", "421 too many\r\n", .networkConnectionLost),
      ("CWD", "550 No such directory\r\n", .fileDoesNotExist), ("CWD", "550 Denied\r\n", .noPermissionsToReadFile),
      ("RETR", "550 Failed to open file.\r\n", .fileDoesNotExist),
      ("RETR", "550 Permission denied\r\n", .noPermissionsToReadFile),
      ("RETR", "530 Please log in\r\n", .userAuthenticationRequired),
      ("RETR", "425 no data connection\r\n", .networkConnectionLost), ("RETR", "hello\r\n", .cannotParseResponse),
      ("TYPE", "504 no\r\n", .badServerResponse), ("EPSV", "425 no\r\n", .networkConnectionLost),
      ("EPSV", "229 (|||0|)\r\n", .badServerResponse),
    ] as [(String, String, URLError.Code)])
  func whatServersAnswer(verb: String, answer: String, code: URLError.Code) async throws {
    let error = try await failure(of: .file().with { $0.answers[verb] = answer })
    #expect(error.code == code, "\(error)")
  }

  @Test(
    arguments: [
      ("421 too many users\r\n", .cannotConnectToHost), ("500 OOPS\r\n", .cannotConnectToHost),
      ("SSH-2.0-OpenSSH_9.2\r\n", .cannotParseResponse), ("HTTP/1.1 400 Bad Request\r\n", .cannotParseResponse),
      ("220 " + String(repeating: "x", count: 10_000) + "\r\n", .dataLengthExceedsMaximum),
      (String(repeating: "220-more\r\n", count: 2_000), .dataLengthExceedsMaximum),
    ] as [(String, URLError.Code)])
  func greetingsThatAreNone(greeting: String, code: URLError.Code) async throws {
    let error = try await failure(of: .file().with { $0.greeting = greeting })
    #expect(error.code == code, "\(error)")
  }

  /// The server says why, or only closes, or says that all is well when it is not.
  @Test(arguments: ["426 cut\r\n", "451 disk\r\n", "226 fine\r\n", "421 bye\r\n", ""], [false, true])
  func aTransferThatIsCut(ending: String, resets: Bool) async throws {
    let script = FTPScript.file("a.txt", String(repeating: "x", count: 100_000)).with {
      $0.cut = 60_000
      $0.ending = ending
      $0.resetsData = resets
    }
    let error = try await failure(of: script)
    #expect(error.code == .networkConnectionLost, "\(error)")
  }

  /// The server says that it has sent everything, everything is here, and the data connection stays open.
  @Test func aDataConnectionThatStaysOpenIsNotWaitedFor() async throws {
    let text = String(repeating: "x", count: 100_000)
    try await withFTP(.file("a.txt", text).with { $0.keepsDataOpen = true }) { server, session, _ in
      let (data, _) = try await session.data(from: server.url("/a.txt"))
      #expect(data == Data(text.utf8))
    }
  }

  /// The sentence names the command that the server answered.
  @Test func aPasswordThatIsAskedForTwice() async throws {
    let error = try await failure(of: .file().with { $0.answers["PASS"] = "331 again\r\n" })
    #expect(error.code == .badServerResponse)
    #expect(error.localizedDescription.contains("PASS"), "\(error.localizedDescription)")
  }

  /// Without a size the end of the data is believed only when the server says that it was the end.
  @Test(arguments: [("226 fine\r\n", true), ("426 cut\r\n", false), ("", false)])
  func withoutASizeTheServersWordCounts(ending: String, isWell: Bool) async throws {
    let script = FTPScript.file("a.txt", String(repeating: "x", count: 100_000)).with {
      $0.answers["SIZE"] = "502 no\r\n"
      $0.ending = ending
    }
    try await withFTP(script) { server, session, _ in
      let data = try? await session.data(from: server.url("/a.txt")).0
      #expect((data?.count == 100_000) == isWell)
    }
  }

  @Test(arguments: ["", "USER", "PASS", "TYPE", "SIZE", "EPSV", "RETR"]) func aSilentServer(verb: String) async throws {
    let script = FTPScript.file().with { if verb.isEmpty { $0.greeting = "" } else { $0.answers[verb] = "" } }
    let error = try await failure(of: script, timeout: 0.3)
    #expect(error.code == .timedOut)
  }

  /// Nothing of a URL becomes a command of its own, and nobody is connected to.
  @Test(arguments: ["/a%0D%0ADELE%20a", "/a%0A", "/%00", "/pub%0d%0aDELE%20a/b", "/a;type=x"])
  func whatACommandCanNotCarry(path: String) async throws {
    try await withFTP(.file()) { server, session, _ in
      for user in ["", "me:a%0D%0ADELE%20a@"] {
        let error = await #expect(throws: URLError.self) {
          _ = try await session.data(from: server.url(path, user: user))
        }
        #expect(error?.code == .badURL)
      }
      #expect(server.control.connectionCount == 0)
    }
  }

  @Test(arguments: ["POST", "PUT", "APPE", "DELETE", "OPTIONS"]) func methodsThatFTPDoesNotHave(method: String)
    async throws
  {
    try await withFTP(.file()) { server, session, _ in
      var request = URLRequest(url: try server.url("/a.txt"))
      request.httpMethod = method
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .unsupportedURL)
      // A folder is not written.
      var folder = URLRequest(url: try server.url("/pub/"))
      folder.httpMethod = "PUT"
      let put = folder
      let upload = await #expect(throws: URLError.self) { _ = try await session.upload(for: put, from: Data([1])) }
      #expect(upload?.code == .badURL && server.control.connectionCount == 0)
    }
  }

  @Test func aServerThatIsNotThere() async throws {
    let port = try await closedPort()
    try await withProxies({ _ in }) { session, delegate in
      let error = await #expect(throws: URLError.self) {
        _ = try await session.data(from: url("ftp://127.0.0.1:\(port)/a"))
      }
      #expect(error?.code == .cannotConnectToHost)
      let transaction = try await delegate.metrics.next().transactionMetrics.first
      #expect(transaction?.connectStartDate != nil && transaction?.connectEndDate == nil)
    }
  }

  /// Nobody listens where the data should come from.
  @Test func aDataPortThatIsClosed() async throws {
    let port = try await closedPort()
    for older in ["227 (127,0,0,1,\(port >> 8),\(port & 0xff))\r\n", "502 no\r\n"] {
      let error = try await failure(
        of: .file().with {
          $0.answers["EPSV"] = "229 (|||\(port)|)\r\n"
          $0.answers["PASV"] = older
        })
      #expect(error.code == .cannotConnectToHost)
    }
  }

  /// What is on the way opens only the ports that it reads in the answer to PASV.
  @Test func aPortThatOnlyTheOlderCommandOpens() async throws {
    let port = try await closedPort()
    try await withFTP(.file().with { $0.answers["EPSV"] = "229 (|||\(port)|)\r\n" }) { server, session, _ in
      let (data, _) = try await session.data(from: server.url("/a.txt"))
      #expect(data.count == 6 && server.commands.contains("PASV"))
    }
  }

  /// Announcements are passed over; a server that only announces is given up.
  @Test func repliesThatOnlyAnnounce() async throws {
    try await withFTP(.file().with { $0.ending = "110 marker\r\n226 sent\r\n" }) { server, session, _ in
      let (data, _) = try await session.data(from: server.url("/a.txt"))
      #expect(data.count == 6)
    }
    let greeting = String(repeating: "120 soon\r\n", count: 40) + "220 now\r\n"
    let error = try await failure(of: .file().with { $0.greeting = greeting })
    #expect(error.code == .cannotParseResponse)
  }

  @Test(arguments: ["ftp://", "ftp:///a", "ftp://h:99999/", "ftp://a%3Ab/", "ftp:a"])
  func urlsWithoutAServer(text: String) async throws {
    guard let url = URL(string: text) else { return }
    try await withProxies({ _ in }) { session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .badURL)
    }
  }

  /// A redirect never leads to a server of FTP by itself.
  @Test func redirectsToFTPAreNotFollowed() async throws {
    try await withFTP(.file()) { ftp, session, _ in
      try await withServer({ [port = ftp.port] _ in
        .status(302, fields: [("Location", "ftp://127.0.0.1:\(port)/a.txt")])
      }) { server in
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
        #expect(error?.code == .unsupportedURL && ftp.control.connectionCount == 0)
      }
    }
  }
}
