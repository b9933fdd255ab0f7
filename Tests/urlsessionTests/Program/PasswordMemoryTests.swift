import ChildProcess
import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// The memory of a program that has said its password and is still at work, as a core dump would have it.
@Suite struct PasswordMemoryTests {
  private let sandbox: Sandbox
  private let answered = Gate()
  private let password = "correct-horse-battery-staple-\(UInt64.random(in: .min ... .max))"

  init() throws { sandbox = try Sandbox() }

  private func writePassword(_ text: String) throws {
    try sandbox.write(text + "\n", to: "secret")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: sandbox.work + "/secret")
  }

  /// Looks while the program waits for the rest of what it loads.
  private func expectNoPassword(in program: RunningProgram, sourceLocation: SourceLocation = #_sourceLocation)
    async throws
  {
    try await answered.wait(within: patience)
    let wide = password.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    for bytes in [Array(password.utf8), wide] {
      #expect(try !DumpableMemory.contains(bytes, ofProcess: program.pid), sourceLocation: sourceLocation)
    }
    // What is looked for would be found: the name of the file is in ordinary memory.
    #expect(
      try DumpableMemory.contains(Array("not-secret-at-all".utf8), ofProcess: program.pid),
      sourceLocation: sourceLocation)
    program.signal(SIGTERM)
    _ = try await program.ended()
  }

  /// Answers the requests that say who asks with the first half of a body, the others with `challenge`.
  private func serve(_ challenge: @escaping @Sendable (String) -> String?) async throws -> LoopbackServer {
    try await LoopbackServer.startRaw { [answered] connection in
      while let head = try? await connection.readHead(), !head.isEmpty {
        guard let challenge = challenge(head) else {
          try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
          answered.open()
          while try await connection.read() != nil {}
          return
        }
        try await connection.write(
          "HTTP/1.1 401 No\r\nWWW-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n")
      }
    }
  }

  /// The server wants normalized text, and a hash function that is our own.
  @Test(arguments: ["", "e\u{301}", "\u{1112}\u{1161}\u{11AB}"]) func digestLeavesNoPassword(_ end: String) async throws
  {
    let server = try await serve { head in
      head.contains("Authorization: Digest ")
        ? nil : #"Digest realm="here", nonce="n", qop="auth", algorithm=SHA-512-256, charset=UTF-8"#
    }
    try writePassword(password + end)
    let program = try sandbox.start([
      "get", "--user", "ann", "--password-file", "secret", "-o", "not-secret-at-all", server.url("/").absoluteString,
    ])
    try await expectNoPassword(in: program)
    await server.shutdown()
  }

  @Test func ntlmLeavesNoPassword() async throws {
    // The challenge message of MS-NLMP §4.2.4.3.
    let challenge =
      "TlRMTVNTUAACAAAADAAMADgAAAAzgoriASNFZ4mrze8AAAAAAAAAACQAJABEAAAABgBwFwAAAA9TAGUAcgB2AGUAcgACAAwARABvAG0AYQBpAG4A"
      + "AQAMAFMAZQByAHYAZQByAAAAAAA="
    let server = try await serve { head in
      guard let start = head.range(of: "Authorization: NTLM ") else { return "NTLM" }
      // The first message, and the one that answers the challenge.
      return head[start.upperBound...].hasPrefix("TlRMTVNTUAAB") ? "NTLM " + challenge : nil
    }
    try writePassword(password)
    let program = try sandbox.start([
      "get", "--user", "ann", "--password-file", "secret", "-o", "not-secret-at-all", server.url("/").absoluteString,
    ])
    try await expectNoPassword(in: program)
    await server.shutdown()
  }

  @Test func anFTPLoginLeavesNoPassword() async throws {
    var script = FTPScript.file()
    script.users = ["ann": password]
    // The program waits for an answer behind its login.
    script.answers = ["RETR": ""]
    let answered = answered
    script.onCommand = { if $0.hasPrefix("RETR") { answered.open() } }
    let server = try await ScriptedFTPServer.start(script)
    try writePassword(password)
    let program = try sandbox.start([
      "get", "--user", "ann", "--password-file", "secret", "-o", "not-secret-at-all",
      "ftp://127.0.0.1:\(server.port)/a.txt",
    ])
    try await expectNoPassword(in: program)
    #expect(server.commands.contains("PASS " + password))
    await server.shutdown()
  }

  @Test func aSOCKSLoginLeavesNoPassword() async throws {
    let answered = answered
    let proxy = try await LoopbackServer.startRaw { connection in
      let count = Int(try await connection.read(exactly: 2)?.last ?? 0)
      let methods = try await connection.read(exactly: count) ?? []
      guard methods.contains(2) else { return try await connection.write([5, 0xFF]) }
      try await connection.write([5, 2])
      // The version, and user and password with their lengths.
      _ = try await connection.read(exactly: 1)
      for _ in 0..<2 {
        let length = Int(try await connection.read(exactly: 1)?.first ?? 0)
        _ = try await connection.read(exactly: length)
      }
      try await connection.write([1, 0])
      let name = Int(try await connection.read(exactly: 5)?.last ?? 0)
      _ = try await connection.read(exactly: name + 2)
      try await connection.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
      _ = try await connection.readHead()
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
      answered.open()
      while try await connection.read() != nil {}
    }
    let terminal = try Terminal()
    let program = try sandbox.start(
      ["get", "--user", "ann", "-o", "not-secret-at-all", "http://one.example/"],
      variables: ["all_proxy": "socks5h://127.0.0.1:\(proxy.port)"], terminal: terminal, controls: true)
    try await eventually("the question") { terminal.transcriptSoFar.contains("Password of ann for the proxy") }
    try terminal.type(password + "\n")
    try await expectNoPassword(in: program)
    await proxy.shutdown()
  }
}
