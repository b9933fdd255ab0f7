import Foundation
import LoopbackServer
import Testing

/// `urlsession get` with URLs that are not of HTTP.
struct OtherSchemeTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func withServer(_ script: FTPScript, _ body: (ScriptedFTPServer) async throws -> Void) async throws {
    let server = try await ScriptedFTPServer.start(script)
    do { try await body(server) } catch {
      await server.shutdown()
      throw error
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func aFolderOfAnFTPServerIsListed() async throws {
    let listing = "-rw-r--r-- 1 ftp ftp 6 Jan 01 2020 a.txt\r\ndrwxr-xr-x 2 ftp ftp 0 Jan 01 2020 sub\r\n"
    let script = FTPScript.file().with {
      $0.listing = listing
      $0.answers["FEAT"] = "500 what?\r\n"
    }
    try await withServer(script) { server in
      let folder = try await sandbox.run("get", "ftp://127.0.0.1:\(server.port)/")
      #expect(folder.status == 0 && folder.text == listing, "\(folder.text) \(folder.errors)")
      let file = try await sandbox.run("get", "ftp://127.0.0.1:\(server.port)/a.txt")
      #expect(file.status == 0 && file.text == "hello\n", "\(file.errors)")
      #expect(server.commands.contains("LIST") && server.commands.contains("RETR a.txt"))
    }
  }

  /// Each data connection ends after a million bytes, and each run of the program asks for what is missing.
  @Test func anFTPDownloadIsContinued() async throws {
    let content = BytePattern(seed: 3).bytes(count: 3_000_000)
    let script = FTPScript().with {
      $0.files = ["a.bin": content]
      $0.dates = ["a.bin": "20200101000000"]
      $0.cut = 1_000_000
    }
    try await withServer(script) { server in
      let arguments = ["get", "-C", "-o", "x", "ftp://127.0.0.1:\(server.port)/a.bin"]
      for _ in 0..<2 {
        let ended = try await sandbox.start(arguments).ended()
        #expect(ended.status == 1 && ended.errors.contains("the same command goes on"), "\(ended.errors)")
      }
      let ended = try await sandbox.start(arguments).ended()
      #expect(ended.status == 0, "\(ended.errors)")
      #expect(sandbox.names == ["x"] && sandbox.content("x") == Data(content))
      #expect(server.commands.filter { $0.hasPrefix("REST") } == ["REST 1000000", "REST 2000000"])
    }
  }

  @Test func ftpIsLoadedOverTLSWhereItIsAskedFor() async throws {
    let authority = try TestCertificates.shared().localhost.authorityFile
    let tls = try ServerTLS.localhost()
    try await withServer(.file().with { $0.tls = tls }) { server in
      let url = "ftp://localhost:\(server.port)/a.txt"
      let ended = try await sandbox.run("get", "--ftp-tls", "--cacert", authority, url)
      #expect(ended.status == 0 && ended.text == "hello\n", "\(ended.errors)")
      #expect(server.commands.first == "AUTH TLS" && server.commands.contains("PROT P"))
    }
    // A server that does not know it is told no login.
    try await withServer(.file()) { server in
      let ended = try await sandbox.run("get", "--ftp-tls", "ftp://localhost:\(server.port)/a.txt")
      #expect(ended.status == 1 && ended.output.isEmpty, "\(ended.status) \(ended.errors)")
      #expect(!server.commands.contains { $0.hasPrefix("USER") })
    }
  }

  @Test(arguments: [("data:,hello%20world", "hello world"), ("data:text/plain;base64,aGVsbG8=", "hello")])
  func aDataURLIsWritten(_ url: String, _ content: String) async throws {
    let ended = try await sandbox.run("get", url)
    #expect(ended.status == 0 && ended.text == content && ended.errors.isEmpty, "\(ended.errors)")
  }

  @Test func aFileURLIsWritten() async throws {
    try sandbox.write("contents", to: "a b.txt")
    let ended = try await sandbox.run("get", "file://\(sandbox.work)/a%20b.txt")
    #expect(ended.status == 0 && ended.text == "contents" && ended.errors.isEmpty, "\(ended.errors)")
    #expect(try await sandbox.run("get", "file://\(sandbox.work)/missing").status != 0)
  }
}
