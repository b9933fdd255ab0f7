import ChildProcess
import Crypto
import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// Kerberos with servers and proxies that people run. The loads are made by a program of its own: the ticket is a matter of
/// the whole process.
@Suite(
  .fewAtATime, .enabled(if: InstalledServer.apache.runsHere, "\(InstalledServer.apache.advice)"),
  .enabled(if: KerberosRealm.runsHere, "\(KerberosRealm.advice)"))
struct NegotiateServerTests {
  private static let size = 200_000

  /// What `load-app` prints for the requests.
  private func load(
    _ requests: [String], _ environment: [String: String], _ arguments: String...
  ) async throws -> [String] {
    let authority = "authority=" + (try TestCertificates.shared().authorityFile)
    let run = try await ProgramRun.run(
      BuiltProgram.path("load-app"), [authority] + arguments, environment: environment,
      input: requests.map { $0 + "\n" }.joined())
    #expect(run.status == 0, "\(run.errors)")
    return run.output.split(separator: "\n").map { String($0) }
  }

  private func withRealm(_ body: (KerberosRealm) async throws -> Void) async throws {
    let realm = try await KerberosRealm.start()
    do { try await body(realm) } catch {
      await realm.stop()
      throw error
    }
    await realm.stop()
  }

  private func tls() throws -> TLSFiles {
    let identity = try TestCertificates.shared().localhost
    return TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
  }

  /// Apache in front of a server that writes down what users of the realm ask it, and as whom.
  private func withApache(
    _ realm: KerberosRealm, isConnectionBound: Bool = false, modules: [String] = [], extra: String = "",
    _ body: (RealServer, LoopbackServer) async throws -> Void
  ) async throws {
    let behind = try await LoopbackServer.start { request in
      .ok("\(request.body.count) of \(request.value("X-User") ?? "-")")
    }
    let apache = try await Apache.start(
      tls: try tls(), modules: ["proxy", "proxy_http"] + modules,
      extra: """
        \(realm.directives(for: "/", isConnectionBound: isConnectionBound))
        RequestHeader set X-User "expr=%{REMOTE_USER}"
        ProxyPass "/" "http://127.0.0.1:\(behind.port)/"
        \(extra)
        """, realm: realm)
    do { try await body(apache, behind) } catch {
      Issue.record(error, "\(apache.errorLog)")
    }
    await apache.stop()
    try await behind.expectNoOpenConnections()
    await behind.shutdown()
  }

  /// A server that wants a token with each request gets one unasked from the third request on; one that lets in
  /// connections is told once.
  @Test(arguments: [false, true]) func laterRequestsAndTheirBodiesAreLetIn(isConnectionBound: Bool) async throws {
    try await withRealm { realm in
      try await withApache(realm, isConnectionBound: isConnectionBound) { apache, behind in
        let url = apache.url("/a", host: "localhost").absoluteString
        let post = "POST \(url) \(Self.size)"
        let printed = try await load(["GET " + url, post, post, "GET " + url], try await realm.login())
        let second = isConnectionBound ? "http/1.1:200" : "http/1.1:401,http/1.1:200"
        #expect(
          printed == [
            "200 http/1.1:401,http/1.1:200 0 of user@TEST.EXAMPLE",
            "200 \(second) \(Self.size) of user@TEST.EXAMPLE",
            "200 http/1.1:200 \(Self.size) of user@TEST.EXAMPLE",
            "200 http/1.1:200 0 of user@TEST.EXAMPLE",
          ], "\(apache.errorLog)")
        #expect(behind.requests.count == 4)
      }
    }
  }

  /// The first request is one with a body.
  @Test func theBodyOfTheFirstRequestArrives() async throws {
    try await withRealm { realm in
      try await withApache(realm) { apache, behind in
        let url = apache.url("/a", host: "localhost").absoluteString
        let printed = try await load(["POST \(url) \(Self.size)"], try await realm.login())
        #expect(printed == ["200 http/1.1:401,http/1.1:200 \(Self.size) of user@TEST.EXAMPLE"])
        #expect(behind.requests.count == 1)
        // Without a ticket the body does not get there.
        let refused = try await load(["POST \(url) \(Self.size)"], realm.environment)
        #expect(refused.first?.hasPrefix("401 http/1.1:401 ") == true && behind.requests.count == 1)
      }
    }
  }

  /// A server of HTTP/2 is answered over HTTP/1.1: no stream can speak for a user.
  @Test func aServerOfHTTP2IsAnsweredOverHTTP1() async throws {
    try await withRealm { realm in
      try await withApache(realm, modules: ["http2"], extra: "Protocols h2 http/1.1") { apache, behind in
        let url = apache.secureURL("/a").absoluteString
        let requests = ["GET " + url, "POST \(url) \(Self.size)", "GET " + url]
        let printed = try await load(requests, try await realm.login())
        #expect(
          printed == [
            "200 h2:401,http/1.1:200 0 of user@TEST.EXAMPLE",
            "200 http/1.1:401,http/1.1:200 \(Self.size) of user@TEST.EXAMPLE",
            "200 http/1.1:200 0 of user@TEST.EXAMPLE",
          ], "\(apache.errorLog)")
        #expect(behind.requests.count == 3)
      }
    }
  }

  // MARK: The channel

  private func endPointHash(of identity: TestCertificates.Identity) throws -> String {
    let pem = try Data(contentsOf: URL(fileURLWithPath: identity.certificateFile))
    let certificate = try #require(SecCertificate.certificates(inPEM: pem).first)
    return Data(SHA256.hash(data: certificate.derBytes)).base64EncodedString()
  }

  /// RFC 5929 §4: the token names the certificate of the server that it was made for. One that gets it by another channel,
  /// as a server in between does, can't use it.
  @Test(arguments: [true, false]) func theTokenIsBoundToTheServersCertificate(isSameChannel: Bool) async throws {
    let certificates = try TestCertificates.shared()
    let hash = try endPointHash(of: isSameChannel ? certificates.localhost : certificates.chained)
    try await withRealm { realm in
      let environment = realm.environment
      let server = try await LoopbackServer.start(tls: ServerTLS(certificates.localhost)) { request in
        guard let value = request.value("Authorization"), value.hasPrefix("Negotiate ") else {
          return .status(401, fields: [("WWW-Authenticate", "Negotiate")], body: "who?")
        }
        let run = try await ProgramRun.run(
          BuiltProgram.path("system-probe"),
          ["accept", "token=\(value.dropFirst("Negotiate ".count))", "certificate=\(hash)"], environment: environment)
        let verdict = run.output.trimmingCharacters(in: .newlines)
        return verdict.hasPrefix("bound ")
          ? .ok(verdict) : .status(401, fields: [("WWW-Authenticate", "Negotiate")], body: verdict)
      }
      let url = server.url("/", host: "localhost").absoluteString
      let printed = try await load(["GET " + url, "POST \(url) 10"], try await realm.login())
      if isSameChannel {
        #expect(printed.allSatisfy { $0 == "200 http/1.1:401,http/1.1:200 bound user@TEST.EXAMPLE" }, "\(printed)")
        #expect(printed.count == 2)
      } else {
        // GSS_S_BAD_BINDINGS
        #expect(printed.allSatisfy { $0 == "401 http/1.1:401,http/1.1:401 the acceptor refused: 4" }, "\(printed)")
      }
      try await server.expectNoOpenConnections()
      await server.shutdown()
    }
  }

  // MARK: Proxies

  @Test(.enabled(if: RealProxy.squid.installed.runsHere, "\(RealProxy.squid.installed.advice)"))
  func tunnelsThroughAProxy() async throws {
    try await withRealm { realm in
      let proxy = try await RealProxy.squid.start(realm: realm)
      let servers = [
        try await LoopbackServer.start(tls: .localhost()) { .ok("\($0.body.count)") },
        try await LoopbackServer.start(tls: .localhost()) { .ok("\($0.body.count)") },
      ]
      let urls = servers.map { $0.url("/a", host: "localhost").absoluteString }
      let requests = ["POST \(urls[0]) \(Self.size)", "GET " + urls[0], "POST \(urls[1]) \(Self.size)"]
      let printed = try await load(requests, try await realm.login(), "proxy=\(proxy.port)")
      // The first tunnel is asked for again, with the token; a second one begins with it, since the proxy's credential is
      // known.
      #expect(printed.map { $0.split(separator: " ").first } == ["200", "200", "200"], "\(printed) \(proxy.errorLog)")
      #expect(printed.map { $0.split(separator: " ").last } == ["\(Self.size)", "0", "\(Self.size)"])
      #expect(printed[1...].allSatisfy { $0.hasPrefix("200 http/1.1:200 ") }, "\(printed)")
      // The servers hear nothing of the proxy's users.
      for request in servers.flatMap(\.requests) {
        #expect(request.value("Authorization") == nil && request.value("Proxy-Authorization") == nil)
      }
      #expect(servers.map(\.requests.count) == [2, 1])
      let counts = servers.map(\.connectionCount)
      let refused = try await load(["GET " + urls[0]], realm.environment, "proxy=\(proxy.port)")
      #expect(refused.first?.hasPrefix("error ") == true, "\(refused)")
      #expect(servers.map(\.connectionCount) == counts)
      // A tunnel's line is written when it ends; its bytes have passed by then.
      var tunnels: [Substring] = []
      try await eventually("the lines of both tunnels") {
        tunnels = proxy.accessLog.split(separator: "\n").filter { $0.contains("TCP_TUNNEL/200") }
        return tunnels.count >= 2
      }
      #expect(tunnels.count == 2 && tunnels.allSatisfy { $0.contains("user@TEST.EXAMPLE") }, "\(tunnels)")
      await proxy.stop()
      for server in servers {
        try await server.expectNoOpenConnections()
        await server.shutdown()
      }
    }
  }

  /// A short body: squid 5 stops reading on the connection of a 407 that came before a long one was there.
  @Test(.enabled(if: RealProxy.squid.installed.runsHere, "\(RealProxy.squid.installed.advice)"))
  func aProxyForwardsBodies() async throws {
    try await withRealm { realm in
      let proxy = try await RealProxy.squid.start(realm: realm)
      let server = try await LoopbackServer.start { .ok("\($0.body.count)") }
      let url = server.url("/a").absoluteString
      let size = 1_000
      let requests = ["POST \(url) \(size)", "GET " + url, "POST \(url) \(size)"]
      let printed = try await load(requests, try await realm.login(), "proxy=\(proxy.port)")
      #expect(printed.map { $0.split(separator: " ").first } == ["200", "200", "200"], "\(printed)")
      #expect(printed.map { $0.split(separator: " ").last } == ["\(size)", "0", "\(size)"])
      #expect(server.requests.count == 3)
      #expect(server.requests.allSatisfy { $0.value("Proxy-Authorization") == nil })
      let refused = try await load(["POST \(url) \(size)"], realm.environment, "proxy=\(proxy.port)")
      #expect(refused.first?.hasPrefix("407 ") == true && server.requests.count == 3, "\(refused)")
      await proxy.stop()
      try await server.expectNoOpenConnections()
      await server.shutdown()
    }
  }
}
