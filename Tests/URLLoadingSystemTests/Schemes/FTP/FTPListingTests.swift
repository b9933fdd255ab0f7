import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Folders come in one form, whichever commands the server knows.
@Suite struct FTPListingTests {
  private static let features = "211-Features:\r\n MDTM\r\n MLST type*;size*;modify*;\r\n211 End\r\n"
  private static let facts =
    "type=cdir;modify=20200101000000; .\r\ntype=file;size=6;modify=20200101000000; a.txt\r\nnonsense\r\n"
    + "type=dir;modify=20200102030405; two words\r\n"
  private static let lines =
    "-rw-r--r--    1 -        -                   6 Jan  1  2020 a.txt\r\n"
    + "drwxr-xr-x    1 -        -                   0 Jan  2  2020 two words\r\n"

  private func listing(_ session: URLSession, _ url: URL) async throws -> String {
    let (data, response) = try await session.data(from: url)
    #expect(response.mimeType == "text/plain" && response.expectedContentLength == -1)
    return String(decoding: data, as: UTF8.self)
  }

  @Test(arguments: [true, false]) func aServerThatKnowsFactsIsAskedForThem(isPassive: Bool) async throws {
    let script = FTPScript().with {
      $0.answers["FEAT"] = Self.features
      $0.facts = Self.facts
    }
    try await withFTP(
      script, configure: { if !isPassive { $0.connectionProxyDictionary = [kCFNetworkProxiesFTPPassive: 0] } }
    ) { server, session, _ in
      for _ in 0..<2 {
        let text = try await listing(session, server.url("/pub/"))
        #expect(text == Self.lines)
      }
      #expect(server.commands.count { $0 == "MLSD" } == 2 && !server.commands.contains("LIST"))
      // One connection served both loads.
      #expect(server.commands.count { $0 == "FEAT" } == 1 && server.commands.count { $0 == "USER anonymous" } == 1)
      #expect(!server.commands.contains { $0.hasPrefix("OPTS") })
    }
  }

  @Test func factsThatAreNotSentAreAskedFor() async throws {
    let script = FTPScript().with {
      $0.answers["FEAT"] = "211-Features:\r\n MLST type*;size*;perm*;UNIX.mode;\r\n211 End\r\n"
      $0.answers["OPTS"] = "200 MLST OPTS type;size;UNIX.mode;\r\n"
      $0.facts = "type=file;size=6;UNIX.mode=0600; a.txt\r\n"
    }
    try await withFTP(script) { server, session, _ in
      for _ in 0..<2 {
        let text = try await listing(session, server.url("/"))
        #expect(text == "-rw-------    1 -        -                   6 Jan  1  1970 a.txt\r\n")
      }
      #expect(server.commands.filter { $0.hasPrefix("OPTS") } == ["OPTS MLST type;size;UNIX.mode;"])
    }
  }

  /// A server on Windows, and one that has no answer to FEAT.
  @Test(arguments: ["502 no\r\n", "211 no features\r\n", "211-Features:\r\n SIZE\r\n211 End\r\n", "500 what?\r\n"])
  func anotherServerIsAskedForLines(answer: String) async throws {
    let script = FTPScript().with {
      $0.answers["FEAT"] = answer
      $0.listing =
        "01-01-20  12:00AM                    6 a.txt\r\n01-02-20  03:04AM       <DIR>          two words\r\n"
    }
    try await withFTP(script) { server, session, _ in
      let text = try await listing(session, server.url("/pub/"))
      #expect(text == Self.lines)
      #expect(server.commands.contains("LIST") && !server.commands.contains("MLSD"))
    }
  }

  /// A server that announces facts and does not know the command is not asked for them again.
  @Test(arguments: [true, false]) func aPromiseThatIsNotKept(isPassive: Bool) async throws {
    let script = FTPScript().with {
      $0.answers["FEAT"] = Self.features
      $0.answers["MLSD"] = "502 no\r\n"
    }
    try await withFTP(
      script, configure: { if !isPassive { $0.connectionProxyDictionary = [kCFNetworkProxiesFTPPassive: 0] } }
    ) { server, session, _ in
      for _ in 0..<2 {
        let text = try await listing(session, server.url("/pub/"))
        #expect(text == script.listing)
      }
      #expect(server.commands.count { $0 == "MLSD" } == 1 && server.commands.count { $0 == "LIST" } == 2)
      // The data connection of the refused command is not that of the next one.
      if isPassive { #expect(server.commands.count { $0 == "EPSV" } == 3) }
    }
  }

  @Test func aFolderThatIsNotThere() async throws {
    let script = FTPScript().with {
      $0.answers["FEAT"] = Self.features
      $0.answers["MLSD"] = "550 no such folder\r\n"
    }
    try await withFTP(script) { server, session, _ in
      let url = try server.url("/pub/")
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .fileDoesNotExist && !server.commands.contains("LIST"))
    }
  }

  /// What a server says of itself is bounded.
  @Test func featuresWithoutEnd() async throws {
    let script = FTPScript().with {
      $0.answers["FEAT"] = "211-Features:\r\n" + String(repeating: " X\r\n", count: 2_000) + "211 End\r\n"
    }
    try await withFTP(script) { server, session, _ in
      let url = try server.url("/")
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .dataLengthExceedsMaximum)
    }
  }

  /// Many small lines, in whatever pieces they come.
  @Test func aLongListing() async throws {
    let script = FTPScript().with {
      $0.answers["FEAT"] = Self.features
      $0.facts = (0..<20_000).map { "type=file;size=\($0); file \($0)\r\n" }.joined()
    }
    try await withFTP(script) { server, session, _ in
      let lines = try await listing(session, server.url("/")).split(separator: "\r\n")
      #expect(lines.count == 20_000 && lines.last?.hasSuffix(" 19999 Jan  1  1970 file 19999") == true)
    }
  }
}
