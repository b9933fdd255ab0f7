import Foundation
import Glibc
import LoopbackServer
import RealServers
import Testing

@Suite struct RealServerTests {
  private func files() throws -> TLSFiles {
    let identity = try TestCertificates.shared().localhost
    return TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
  }

  /// What every real server must do before a test relies on it.
  private func check(_ server: RealServer) async throws {
    let text = String(repeating: "compressible ", count: 1000)
    try text.write(toFile: server.documentRoot + "/a.txt", atomically: false, encoding: .utf8)
    #expect(try await curl(server.url("/a.txt").absoluteString).text == text)
    let authority = try TestCertificates.shared().authorityFile
    let secure = try await curl("--cacert", authority, server.secureURL("/a.txt").absoluteString)
    #expect(secure.text == text, "\(secure.errors)")
    #expect(try await curl("-r", "1-9", server.url("/a.txt").absoluteString).text == "ompressib")
    let packed = try await curl(
      "-H", "Accept-Encoding: gzip", "-o", "/dev/null", "-w", "%{size_download}", server.url("/a.txt").absoluteString)
    let size = try #require(Int(packed.text))
    #expect(size > 0 && size < text.count / 10)
    // One connection for both.
    let url = server.url("/a.txt").absoluteString
    let reused = try await curl("-o", "/dev/null", "-o", "/dev/null", "-w", "%{num_connects}", url, url)
    #expect(reused.text == "10")
    try await eventually("the access log") { server.accessLog.contains("GET /a.txt") }
  }

  @Test(.enabled(if: InstalledServer.nginx.runsHere, "\(InstalledServer.nginx.advice)"))
  func nginxServes() async throws {
    let server = try await Nginx.start(tls: files(), extra: "location = /teapot { return 418; }")
    try await check(server)
    let status = try await curl("-o", "/dev/null", "-w", "%{http_code}", server.url("/teapot").absoluteString)
    #expect(status.text == "418")
    await server.stop()
    #expect(!server.isRunning)
    // CURLE_COULDNT_CONNECT
    #expect(try await curl(server.url().absoluteString).status == 7)
    #expect(!FileManager.default.fileExists(atPath: server.documentRoot))
  }

  @Test(.enabled(if: InstalledServer.apache.runsHere, "\(InstalledServer.apache.advice)"))
  func apacheServes() async throws {
    let server = try await Apache.start(tls: files(), extra: "Redirect /old /a.txt")
    try await check(server)
    let status = try await curl("-o", "/dev/null", "-w", "%{http_code}", server.url("/old").absoluteString)
    #expect(status.text == "302")
    await server.stop()
    #expect(!server.isRunning)
    #expect(try await curl(server.url().absoluteString).status == 7)
  }

  @Test(
    .enabled(if: InstalledServer.apache.runsHere, "\(InstalledServer.apache.advice)"),
    .enabled(if: KerberosRealm.runsHere, "\(KerberosRealm.advice)"))
  func apacheLetsInUsersOfARealm() async throws {
    let realm = try await KerberosRealm.start()
    let server = try await Apache.start(extra: realm.directives(for: "/"), realm: realm)
    try "for users".write(toFile: server.documentRoot + "/a.txt", atomically: false, encoding: .utf8)
    let question = [
      "-q", "-sS", "--noproxy", "*", "--max-time", "90", "--negotiate", "--user", ":", "--write-out", " %{http_code}",
      server.url("/a.txt", host: "localhost").absoluteString,
    ]
    #expect(try await run("curl", question, environment: realm.login()).text == "for users 200")
    #expect(try await run("curl", question, environment: realm.environment).text.hasSuffix(" 401"))
    await server.stop()
    await realm.stop()
  }

  @Test(
    .enabled(if: RealProxy.squid.installed.runsHere, "\(RealProxy.squid.installed.advice)"),
    .enabled(if: KerberosRealm.runsHere, "\(KerberosRealm.advice)"))
  func squidLetsInUsersOfARealm() async throws {
    let realm = try await KerberosRealm.start()
    let server = try await Apache.start()
    let proxy = try await RealProxy.squid.start(realm: realm)
    try "through squid".write(toFile: server.documentRoot + "/a.txt", atomically: false, encoding: .utf8)
    let question = [
      "-q", "-sS", "--noproxy", "", "--max-time", "90", "--proxy", proxy.url("", host: "localhost").absoluteString,
      "--proxy-negotiate", "--proxy-user", ":", "--write-out", " %{http_code}", server.url("/a.txt").absoluteString,
    ]
    #expect(try await run("curl", question, environment: realm.login()).text == "through squid 200")
    #expect(try await run("curl", question, environment: realm.environment).text.hasSuffix(" 407"))
    await proxy.stop()
    await server.stop()
    await realm.stop()
  }

  @Test(.enabled(if: InstalledServer.nginx.runsHere, "\(InstalledServer.nginx.advice)"))
  func aWrongConfigurationIsReported() async throws {
    do {
      _ = try await Nginx.start(extra: "no_such_directive on;")
      Issue.record("nginx started")
    } catch RealServerError.didNotStart(_, let log) {
      #expect(log.contains("no_such_directive"))
    }
  }

  @Test(.enabled(if: InstalledServer.nginx.runsHere, "\(InstalledServer.nginx.advice)"))
  func aStuckServerIsKilled() async throws {
    let server = try await Nginx.start()
    server.signal("STOP")
    await server.stop(grace: .milliseconds(50))
    #expect(!server.isRunning)
    try await eventually("the workers to end") {
      try await curl("--max-time", "1", server.url().absoluteString).status == 7
    }
  }

  @Test func aMissingServerNamesItsPackage() async throws {
    let server = InstalledServer(program: "no-such-server", package: "no-such-package")
    #expect(!server.isInstalled)
    #expect(server.runsHere == !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty)
    do {
      _ = try server.path()
      Issue.record("found \(server)")
    } catch RealServerError.notInstalled(let package) {
      #expect(package == "no-such-package")
    }
  }
}
