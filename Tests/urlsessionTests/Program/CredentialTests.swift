import ChildProcess
import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

@testable import urlsession

/// The built program against servers that ask who is there.
struct CredentialTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func serve() async throws -> LoopbackServer {
    let expected = "Basic " + Data("ann:hunter2".utf8).base64EncodedString()
    return try await LoopbackServer.start { request in
      request.value("Authorization") == expected
        ? .ok("in") : .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)])
    }
  }

  private func write(_ text: String, to name: String, permissions: Int = 0o600) throws {
    try sandbox.write(text, to: name)
    try FileManager.default.setAttributes(
      [.posixPermissions: permissions], ofItemAtPath: "\(sandbox.work)/\(name)")
  }

  @Test func thePasswordComesFromAFile() async throws {
    let server = try await serve()
    try write("hunter2\nrest\n", to: "password")
    let ended = try await sandbox.run(
      "get", "--user", "ann", "--password-file", "password", server.url("/").absoluteString)
    #expect(ended.status == 0 && ended.text == "in")
    try write("wrong\n", to: "password")
    let refused = try await sandbox.run(
      "get", "--user", "ann", "--password-file", "password", server.url("/").absoluteString)
    #expect(refused.status == 22 && refused.errors.contains("--user") && !refused.errors.contains("wrong"))
    await server.shutdown()
  }

  /// Neither what `--json`, `-v` and `--har` write, nor the sentence of a failure.
  @Test(arguments: ["ann:hunter2", "ann:wrongly"]) func thePasswordOfAURLIsNotShown(user: String) async throws {
    let server = try await serve()
    let url = "http://\(user)@127.0.0.1:\(server.port)/a"
    let ended = try await sandbox.run("get", "-v", "--json", "-o", "x", "--har", "x.har", url)
    let har = String(decoding: sandbox.content("x.har") ?? Data(), as: UTF8.self)
    #expect(ended.status == (user == "ann:hunter2" ? 0 : 22), "\(ended.errors)")
    #expect(ended.text.contains("ann@127.0.0.1") && har.contains("127.0.0.1"))
    let secrets = ["hunter2", "wrongly", Data(user.utf8).base64EncodedString()]
    for secret in secrets {
      #expect(![ended.text, ended.errors, har].contains { $0.contains(secret) }, "\(ended.text) \(ended.errors)")
    }
    await server.shutdown()
  }

  /// FTP has the client say first who it is: a server that lets everyone in is told the user, too.
  @Test(arguments: [false, true]) func anFTPServerIsToldTheUser(byNetRC: Bool) async throws {
    var script = FTPScript.file()
    script.users = ["ann": "hunter2", "anonymous": "anonymous@"]
    let server = try await ScriptedFTPServer.start(script)
    let url = "ftp://127.0.0.1:\(server.port)/a.txt"
    try write(byNetRC ? "machine 127.0.0.1 login ann password hunter2\n" : "hunter2\n", to: "secret")
    let options = byNetRC ? ["--netrc-file", "secret"] : ["--user", "ann", "--password-file", "secret"]
    let ended = try await sandbox.start(["get"] + options + [url]).ended()
    #expect(ended.status == 0 && ended.text == "hello\n", "\(ended.errors)")
    #expect(server.commands.filter { $0.hasPrefix("USER") } == ["USER ann"])
    await server.shutdown()
  }

  @Test func anFTPServerThatRefusesTheUserIsAskedForNoOther() async throws {
    var script = FTPScript.file()
    script.users = ["ann": "hunter2", "anonymous": "anonymous@"]
    let server = try await ScriptedFTPServer.start(script)
    try write("wrong\n", to: "secret")
    let ended = try await sandbox.run(
      "get", "--user", "ann", "--password-file", "secret", "ftp://127.0.0.1:\(server.port)/a.txt")
    #expect(ended.status == 1 && ended.text.isEmpty)
    #expect(server.commands.filter { $0.hasPrefix("USER") } == ["USER ann"])
    await server.shutdown()
  }

  // MARK: On a terminal

  @Test func thePasswordIsAskedForOnTheTerminalAndNotShown() async throws {
    let server = try await serve()
    let terminal = try Terminal()
    let program = try sandbox.start(
      ["get", "--user", "ann", server.url("/").absoluteString], terminal: terminal, controls: true)
    try await eventually("the question") { terminal.transcriptSoFar.contains("Password of ann for 127.0.0.1: ") }
    try terminal.type("hunter2\n")
    let ended = try await program.ended()
    #expect(ended.status == 0 && ended.text == "in")
    #expect(!terminal.transcriptSoFar.contains("hunter2"))
    await server.shutdown()
  }

  /// The password is for the server that the URL names.
  @Test func aServerThatARedirectLeadsToDoesNotGetThePassword() async throws {
    let other = try await serve()
    let server = try await LoopbackServer.start { _ in .redirect(to: other.url("/").absoluteString) }
    try write("hunter2\n", to: "password")
    let ended = try await sandbox.run(
      "get", "--user", "ann", "--password-file", "password", server.url("/").absoluteString)
    #expect(ended.status == 22)
    #expect(other.requests.allSatisfy { $0.value("Authorization") == nil } && !other.requests.isEmpty)
    await server.shutdown()
    await other.shutdown()
  }

  // MARK: In the background

  @Test func aDownloadSaysItsPasswordWhereThereIsNoKeychain() async throws {
    let server = try await serve()
    try write("hunter2\n", to: "password")
    let started = try await sandbox.run(
      "download", "--json", "--user", "ann", "--password-file", "password", "-o", "x", server.url("/").absoluteString)
    #expect(started.status == 0, "\(started.errors)")
    #expect(started.errors.contains("There is no keychain"))
    let number = try #require(try started.json()["transfer"] as? Int)
    let waited = try await sandbox.run("wait", "\(number)")
    #expect(waited.status == 0, "\(waited.errors)")
    #expect(sandbox.content("x") == Data("in".utf8))
    try expectNoPassword()
    await server.shutdown()
  }

  /// The server asks when the program has ended: the service starts it, and it finds the password where it was kept.
  @Test func aDownloadKeepsItsPasswordUntilItIsAskedFor() async throws {
    let gate = Gate()
    let expected = "Basic " + Data("ann:hunter2".utf8).base64EncodedString()
    let server = try await LoopbackServer.start { request in
      guard request.value("Authorization") != expected else { return .ok("in") }
      return Reply([
        .waitFor(gate), .head(401, fields: [("WWW-Authenticate", #"Basic realm="here""#), ("Content-Length", "0")]),
      ])
    }
    try write("hunter2\n", to: "password")
    let secrets = sandbox.home.path + "/secrets/file"
    let started = try await sandbox.run(
      "download", "--json", "--user", "ann", "--password-file", "password", "-o", "x", server.url("/").absoluteString,
      variables: ["URLSESSION_SECRETS_FILE": secrets])
    #expect(started.status == 0 && !started.errors.contains("keychain"), "\(started.errors)")
    let number = try #require(try started.json()["transfer"] as? Int)
    gate.open()
    let waited = try await sandbox.run("wait", "\(number)", variables: ["URLSESSION_SECRETS_FILE": secrets])
    #expect(waited.status == 0, "\(waited.errors)")
    #expect(sandbox.content("x") == Data("in".utf8))
    // It is needed no more.
    try expectNoPassword()
    await server.shutdown()
  }

  /// No file of the sandbox has the password, but the one that the test wrote.
  private func expectNoPassword() throws {
    let files = try sandbox.files(containing: ["hunter2", Data("ann:hunter2".utf8).base64EncodedString()])
    #expect(files == ["work/password"])
  }

  @Test func aFileThatOthersCanReadIsRefused() async throws {
    try write("hunter2\n", to: "password", permissions: 0o644)
    let ended = try await sandbox.run("get", "--user", "ann", "--password-file", "password", "http://127.0.0.1:1/")
    #expect(ended.status == 64 && ended.errors.contains("chmod 600"))
  }

  @Test func netrcNamesUserAndPassword() async throws {
    let server = try await serve()
    let host = server.url("/").host ?? ""
    try write("machine other login bob password 1\nmachine \(host)\n  login ann\n  password hunter2\n", to: "netrc")
    let ended = try await sandbox.run("get", "--netrc-file", "netrc", server.url("/").absoluteString)
    #expect(ended.status == 0 && ended.text == "in")
    let unasked = try await sandbox.run("get", server.url("/").absoluteString)
    #expect(unasked.status == 22)
    await server.shutdown()
  }

  /// The home is that of the environment, as for other programs, not that of the user database.
  @Test func netrcIsReadFromTheHomeFolder() async throws {
    let server = try await serve()
    let path = sandbox.home.path + "/.netrc"
    let entry = "machine \(server.url("/").host ?? "") login ann password hunter2\n"
    let isWritten = FileManager.default.createFile(
      atPath: path, contents: Data(entry.utf8), attributes: [.posixPermissions: 0o600])
    #expect(isWritten)
    let ended = try await sandbox.run("get", "--netrc", server.url("/").absoluteString)
    #expect(ended.status == 0 && ended.text == "in")
    await server.shutdown()
  }

  @Test func verboseOutputHidesTheCredential() async throws {
    let server = try await serve()
    try write("hunter2\n", to: "password")
    let ended = try await sandbox.run(
      "get", "-v", "--user", "ann", "--password-file", "password", server.url("/").absoluteString)
    #expect(ended.status == 0 && !ended.errors.contains(Data("ann:hunter2".utf8).base64EncodedString()))
    #expect(!ended.errors.contains("hunter2"))
    await server.shutdown()
  }

  @Test(arguments: [["--password-file", "x"], ["--key", "x"], ["--user", "a:b"], ["--pin-sha256", "short"]])
  func whatMakesNoSenseIsSaid(_ arguments: [String]) async throws {
    let ended = try await sandbox.start(["get", "http://127.0.0.1:1/"] + arguments).ended()
    #expect(ended.status == 64 && !ended.errors.isEmpty)
  }

  @Test(
    .enabled(if: InstalledServer.apache.runsHere, "\(InstalledServer.apache.advice)"),
    .enabled(if: KerberosRealm.runsHere, "\(KerberosRealm.advice)"))
  func aTicketOpensAServer() async throws {
    let realm = try await KerberosRealm.start()
    let server = try await Apache.start(extra: realm.directives(for: "/"), realm: realm)
    try "for users".write(toFile: server.documentRoot + "/a.txt", atomically: false, encoding: .utf8)
    let url = server.url("/a.txt", host: "localhost").absoluteString
    let ended = try await sandbox.run("get", url, variables: try await realm.login())
    #expect(ended.status == 0 && ended.text == "for users")
    let without = try await sandbox.run("get", url, variables: realm.environment)
    #expect(without.status == 22)
    // Without a ticket, with the password.
    try write("pass word\n", to: "password")
    let typed = try await sandbox.run(
      "get", "--negotiate", "--user", "user", "--password-file", "password", url, variables: realm.environment)
    #expect(typed.status == 0 && typed.text == "for users")
    await server.stop()
    await realm.stop()
  }

  /// Whichever way the password was named.
  @Test(arguments: [
    #"Basic realm="here""#, #"Digest realm="here", nonce="n", qop="auth", algorithm=SHA-256"#, "NTLM", "Bearer",
  ])
  func negotiateSendsNothingToAServerThatOffersWeakerSchemes(challenge: String) async throws {
    let server = try await LoopbackServer.start { request in
      request.value("Authorization") == nil
        ? .status(401, fields: [("WWW-Authenticate", challenge)], body: "who?") : .ok("in")
    }
    try write("hunter2\n", to: "password")
    try write("machine 127.0.0.1 login ann password hunter2\n", to: "netrc")
    let ways = [
      (["--user", "ann", "--password-file", "password"], ""), (["--netrc-file", "netrc"], ""), ([], "ann:hunter2@"),
    ]
    for (options, user) in ways {
      let url = "http://\(user)127.0.0.1:\(server.port)/"
      let ended = try await sandbox.start(["get", "--negotiate"] + options + [url]).ended()
      #expect(
        ended.status == 22 && ended.errors.contains("401") && ended.errors.contains("--negotiate"), "\(ended.errors)")
    }
    #expect(server.requests.count == ways.count && server.requests.allSatisfy { $0.value("Authorization") == nil })
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A proxy is not told more than a server.
  @Test func negotiateSendsNothingToAProxyThatOffersWeakerSchemes() async throws {
    let proxy = try await LoopbackServer.start { request in
      request.value("Proxy-Authorization") == nil
        ? .status(407, fields: [("Proxy-Authenticate", #"Basic realm="here""#)], body: "who?") : .ok("in")
    }
    try write("hunter2\n", to: "password")
    let ended = try await sandbox.start(
      ["get", "--negotiate", "--user", "ann", "--password-file", "password", "http://origin.example/"],
      variables: ["http_proxy": "http://bob:swordfish@127.0.0.1:\(proxy.port)"]
    ).ended()
    #expect(
      ended.status == 22 && ended.errors.contains("407") && ended.errors.contains("--negotiate"), "\(ended.errors)")
    #expect(proxy.requests.count == 1 && proxy.requests.allSatisfy { $0.value("Proxy-Authorization") == nil })
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  @Test func aClientCertificateOpensAServer() async throws {
    let identity = try TestCertificates.shared().localhost
    let files = try TestCertificates.shared().client
    let server = try await Nginx.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile),
      extra: "ssl_verify_client on; ssl_client_certificate \"\(identity.authorityFile)\";")
    try "for members".write(toFile: server.documentRoot + "/a.txt", atomically: false, encoding: .utf8)
    let url = server.secureURL("/a.txt").absoluteString
    let ended = try await sandbox.run(
      "get", "--cacert", identity.authorityFile, "--cert", files.certificateFile, "--key", files.keyFile, url)
    #expect(ended.status == 0 && ended.text == "for members")
    await server.stop()
  }

  @Test func aPinNamesTheServersKey() async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("in") }
    let pem = try Data(contentsOf: URL(fileURLWithPath: identity.certificateFile))
    let hash = try #require(SecCertificate.certificates(inPEM: pem).first?.publicKeySHA256)
    let url = "https://localhost:\(server.port)/"
    for (pin, status) in [(hash, 0), (Data(count: 32), 1)] as [(Data, Int32)] {
      let ended = try await sandbox.run(
        "get", "--cacert", identity.authorityFile, "--pin-sha256", pin.base64EncodedString(), url)
      #expect(ended.status == status && ended.text == (status == 0 ? "in" : ""), "\(ended.errors)")
    }
    await server.shutdown()
  }

  // MARK: What a core dump would show

  /// The password is in no memory that a core dump has, while the program is still at work. A Basic credential is, in the
  /// form in which it is sent; so the server asks for Digest.
  @Test(arguments: ["--password-file", "--netrc-file"]) func aCoreDumpDoesNotShowThePassword(option: String)
    async throws
  {
    let password = "correct-horse-battery-staple-\(UInt64.random(in: .min ... .max))"
    let answered = Gate()
    let server = try await LoopbackServer.startRaw { connection in
      let head = try await connection.readHead()
      guard head.contains("Authorization: Digest ") else {
        return try await connection.write(
          "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"here\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256\r\n"
            + "Content-Length: 0\r\nConnection: close\r\n\r\n")
      }
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
      answered.open()
      while try await connection.read() != nil {}
    }
    try write(
      option == "--netrc-file" ? "machine 127.0.0.1 login ann password \(password)\n" : password + "\n", to: "secret")
    let user = option == "--netrc-file" ? [] : ["--user", "ann"]
    let program = try sandbox.start(["get"] + user + [option, "secret", "-o", "out", server.url("/").absoluteString])
    try await answered.wait(within: patience)
    #expect(try !DumpableMemory.contains(Array(password.utf8), ofProcess: program.pid))
    // What is looked for would be found: the URL is in ordinary memory.
    #expect(try DumpableMemory.contains(Array("127.0.0.1:\(server.port)".utf8), ofProcess: program.pid))
    program.signal(SIGTERM)
    _ = try await program.ended()
    await server.shutdown()
  }
}
