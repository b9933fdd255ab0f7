import Foundation
import LoopbackServer
import RealServers
import Testing

@testable import urlsession

/// The built program against servers and proxies that people run, set up to ask who is there.
@Suite(.serialized) struct CredentialServerTests {
  private let sandbox: Sandbox

  init() throws {
    sandbox = try Sandbox()
    try sandbox.write("pass word\n", to: "password")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(sandbox.work)/password")
    try sandbox.write("wrong\n", to: "wrong")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(sandbox.work)/wrong")
  }

  /// SHA-256 of "ann:members:pass word".
  private static let line = "ann:members:74f548c01eee90f5a06279ffdbb46296c26292cdfafd115060c844d8038fc315"

  @Test(.enabled(if: InstalledServer.lighttpd.runsHere, "\(InstalledServer.lighttpd.advice)"))
  func aPasswordOpensAServerThatAsksForDigestWithSHA256() async throws {
    let server = try await Lighttpd.start(users: [Self.line], realm: "members")
    try "for members".write(toFile: server.documentRoot + "/a.txt", atomically: false, encoding: .utf8)
    let url = server.url("/a.txt").absoluteString
    let ended = try await sandbox.run("get", "-v", "--user", "ann", "--password-file", "password", url)
    #expect(ended.status == 0 && ended.text == "for members", "\(ended.errors)")
    #expect(ended.errors.contains("algorithm=SHA-256"))
    let refused = try await sandbox.run("get", "--user", "ann", "--password-file", "wrong", url)
    #expect(refused.status == 22)
    await server.stop()
  }

  // MARK: Proxies

  /// Through the proxy, to a server on this machine that the proxy knows under another name.
  private func expectThrough(
    _ proxy: RealServer, user: String = "", _ arguments: [String], variables: [String: String] = [:], refused: [String],
    refusedUser: String = ""
  ) async throws {
    let server = try await LoopbackServer.start { _ in .ok("behind the proxy") }
    let url = "http://\(RealProxy.nameOfThisMachine):\(server.port)/"
    // By name: Kerberos knows the proxy by it.
    let variables = variables.merging(["http_proxy": "http://\(user)localhost:\(proxy.port)"]) { $1 }
    let ended = try await sandbox.start(["get"] + arguments + [url], variables: variables).ended()
    #expect(ended.status == 0 && ended.text == "behind the proxy", "\(ended.errors)")
    let count = server.requests.count
    var others = variables
    others["KRB5CCNAME"] = "FILE:/nonexistent"
    others["http_proxy"] = "http://\(refusedUser)localhost:\(proxy.port)"
    let stranger = try await sandbox.start(["get"] + refused + [url], variables: others).ended()
    #expect(stranger.status == 22 && server.requests.count == count, "\(stranger.errors)")
    await proxy.stop()
    await server.shutdown()
  }

  @Test(.enabled(if: RealProxy.squid.installed.runsHere, "\(RealProxy.squid.installed.advice)"))
  func aPasswordOpensAProxyThatAsksForDigest() async throws {
    let proxy = try await RealProxy.squid.start(credential: ("ann", "pass word"), usesDigest: true)
    try await expectThrough(
      proxy, ["--user", "ann", "--password-file", "password"],
      refused: ["--user", "ann", "--password-file", "wrong"])
  }

  /// The user of the URL's server is not the proxy's.
  @Test(.enabled(if: RealProxy.squid.installed.runsHere, "\(RealProxy.squid.installed.advice)"))
  func theProxysOwnUserOpensIt() async throws {
    let proxy = try await RealProxy.squid.start(credential: ("bob", "quiet"), usesDigest: true)
    let server = ["--user", "ann", "--password-file", "password"]
    try await expectThrough(proxy, user: "bob:quiet@", server, refused: server, refusedUser: "bob:loud@")
  }

  @Test(
    .enabled(if: RealProxy.squid.installed.runsHere, "\(RealProxy.squid.installed.advice)"),
    .enabled(if: KerberosRealm.runsHere, "\(KerberosRealm.advice)"))
  func aTicketOpensAProxy() async throws {
    let realm = try await KerberosRealm.start()
    let proxy = try await RealProxy.squid.start(realm: realm)
    try await expectThrough(proxy, [], variables: try await realm.login(), refused: [])
    await realm.stop()
  }
}
