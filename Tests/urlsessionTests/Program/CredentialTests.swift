import Foundation
import LoopbackServer
import RealServers
import Testing

@testable import urlsession

/// The built program against servers that ask who is there.
struct CredentialTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func serve() async throws -> LoopbackServer {
    let expected = "Basic " + Data("ann:secret".utf8).base64EncodedString()
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
    try write("secret\nrest\n", to: "password")
    let ended = try await sandbox.run(
      "get", "--user", "ann", "--password-file", "password", server.url("/").absoluteString)
    #expect(ended.status == 0 && ended.text == "in")
    try write("wrong\n", to: "password")
    let refused = try await sandbox.run(
      "get", "--user", "ann", "--password-file", "password", server.url("/").absoluteString)
    #expect(refused.status == 22 && refused.errors.contains("--user") && !refused.errors.contains("wrong"))
    await server.shutdown()
  }

  @Test func aFileThatOthersCanReadIsRefused() async throws {
    try write("secret\n", to: "password", permissions: 0o644)
    let ended = try await sandbox.run("get", "--user", "ann", "--password-file", "password", "http://127.0.0.1:1/")
    #expect(ended.status == 64 && ended.errors.contains("chmod 600"))
  }

  @Test func netrcNamesUserAndPassword() async throws {
    let server = try await serve()
    let host = server.url("/").host ?? ""
    try write("machine other login bob password 1\nmachine \(host)\n  login ann\n  password secret\n", to: "netrc")
    let ended = try await sandbox.run("get", "--netrc-file", "netrc", server.url("/").absoluteString)
    #expect(ended.status == 0 && ended.text == "in")
    let unasked = try await sandbox.run("get", server.url("/").absoluteString)
    #expect(unasked.status == 22)
    await server.shutdown()
  }

  @Test func verboseOutputHidesTheCredential() async throws {
    let server = try await serve()
    try write("secret\n", to: "password")
    let ended = try await sandbox.run(
      "get", "-v", "--user", "ann", "--password-file", "password", server.url("/").absoluteString)
    #expect(ended.status == 0 && !ended.errors.contains(Data("ann:secret".utf8).base64EncodedString()))
    #expect(!ended.errors.contains("secret"))
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
    let pinned = try await sandbox.run(
      "get", "--cacert", identity.authorityFile, "--pin-sha256", Data(count: 32).base64EncodedString(), url)
    #expect(pinned.status == 1 && pinned.text.isEmpty)
    await server.stop()
  }
}
