import Foundation
import LoopbackServer
import Testing

/// What `get -v` says, to the word where people look for it.
struct VerboseTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func serve(
    tls: ServerTLS? = nil, _ handler: @escaping @Sendable (RecordedRequest) async throws -> Reply
  ) async throws -> LoopbackServer { try await LoopbackServer.start(tls: tls, handler: handler) }

  @Test func verboseOutputHidesSecrets() async throws {
    let server = try await serve { request in
      request.path == "/a" ? .redirect(to: "/b") : .ok("body", fields: [("X-One", "1")])
    }
    let ended = try await sandbox.run(
      "get", "-v", "-H", "Authorization: Bearer topsecret", server.url("/a?q=1").absoluteString)
    let lines = ended.errors.split(separator: "\n").map(String.init)
    #expect(ended.status == 0)
    #expect(ended.text == "body")
    #expect(lines.allSatisfy { [">", "<", "*"].contains($0.prefix(1)) })
    let first = try #require(lines.firstIndex(of: "> GET /a?q=1 HTTP/1.1"))
    let redirect = try #require(lines.firstIndex { $0.hasPrefix("< HTTP/1.1 302") })
    let second = try #require(lines.firstIndex(of: "> GET /b HTTP/1.1"))
    let answer = try #require(lines.firstIndex { $0.hasPrefix("< HTTP/1.1 200") })
    #expect(first < redirect && redirect < second && second < answer)
    #expect(lines.contains("< X-One: 1"))
    #expect(lines.contains { $0.hasPrefix("* ") && $0.contains("at 127.0.0.1:\(server.port) from 127.0.0.1:") })
    #expect(lines.last?.hasSuffix("in all, 1 redirect") == true)
    #expect(lines.contains("> Authorization: (not shown)"))
    #expect(lines.contains { $0.hasPrefix("> User-Agent: urlsession/") })
    #expect(!ended.errors.contains("topsecret"))
    await server.shutdown()
  }

  @Test func namesTheSocketThatItIsConnectedTo() async throws {
    var options = LoopbackServer.Options()
    let path = sandbox.work + "/server"
    options.socketPath = path
    let server = try await LoopbackServer.start(options: options) { _ in .ok("in") }
    let host = try #require(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    let named = try await sandbox.run("get", "-v", "http+unix://\(host)/")
    #expect(named.text == "in" && named.errors.contains("* connected to the socket \(path)\n"), "\(named.errors)")
    let chosen = try await sandbox.run("get", "-v", "--unix-socket", path, "http://engine/")
    #expect(chosen.text == "in" && chosen.errors.contains("* connected to a Unix-domain socket\n"), "\(chosen.errors)")
    await server.shutdown()
  }

  @Test(arguments: ["http/1.1", "h2"]) func showsTheServersCertificate(_ version: String) async throws {
    let certificates = try TestCertificates.shared()
    var tls = ServerTLS(certificates.localhost)
    tls.applicationProtocols = [version]
    let server = try await serve(tls: tls) { _ in .ok("body") }
    let url = "https://localhost:\(server.port)/x"
    let ended = try await sandbox.run(
      "get", "-v", url, variables: ["SSL_CERT_FILE": certificates.authorityFile])
    let lines = ended.errors.split(separator: "\n").map(String.init)
    #expect(ended.text == "body")
    #expect(lines.first == "* loading \(url)")
    let connected = try #require(lines.firstIndex { $0.hasPrefix("* connected to localhost at 127.0.0.1:") })
    let secured = lines[connected + 1]
    #expect(secured.hasPrefix("*   secured with TLS 1.3, TLS_") && secured.hasSuffix(", \(version)"))
    #expect(lines[connected + 2].hasPrefix("*   certificate of CN="))
    #expect(lines[connected + 3].hasPrefix("*   issued by CN="))
    #expect(lines[connected + 4].hasPrefix("*   valid from 20") && lines[connected + 4].hasSuffix(" days left"))
    let name = version == "h2" ? "HTTP/2" : "HTTP/1.1"
    #expect(lines[connected + 5] == "> GET /x \(name)")
    #expect(lines.contains { $0.hasPrefix("< \(name) 200") })
    #expect(lines.contains { $0.hasPrefix("*   ") && $0.contains(", TLS ") && $0.contains("bytes sent") })
    await server.shutdown()
  }

  @Test func showsTheCertificateThatIsRefused() async throws {
    let server = try await serve(tls: .localhost()) { _ in .ok("body") }
    let ended = try await sandbox.run("get", "-v", "https://localhost:\(server.port)/")
    #expect(ended.status == 1)
    #expect(ended.text.isEmpty)
    #expect(ended.errors.contains("* connected to localhost at 127.0.0.1:\(server.port)"))
    #expect(ended.errors.contains("*   issued by CN="))
    #expect(!ended.errors.contains("> GET"))
    await server.shutdown()
  }

  @Test func showsTheProxyAndHidesItsPassword() async throws {
    let proxy = try await serve { request in
      request.value("Proxy-Authorization") == nil
        ? .status(407, fields: [("Proxy-Authenticate", "Basic realm=x")]) : .ok("by proxy")
    }
    let ended = try await sandbox.run(
      "get", "-v", "http://server.test/x",
      variables: ["http_proxy": "http://me:topsecret@127.0.0.1:\(proxy.port)"])
    #expect(ended.text == "by proxy")
    let name = "http://127.0.0.1:\(proxy.port)"
    #expect(ended.errors.contains("* connected to the proxy \(name) at 127.0.0.1:\(proxy.port) from "))
    #expect(ended.errors.contains("> GET http://server.test/x HTTP/1.1\n> Host: server.test\n"))
    #expect(ended.errors.contains("> Proxy-Authorization: (not shown)\n"))
    #expect(!ended.errors.contains("topsecret"))
    await proxy.shutdown()
  }

  @Test func bodyGoesToTheFileAndVerboseOutputToStandardError() async throws {
    let server = try await serve { .ok($0.body.text) }
    let ended = try await sandbox.run("get", "-v", "-d", "a=b", "-o", "x", server.url("/").absoluteString)
    #expect(ended.text.isEmpty)
    #expect(sandbox.content("x") == Data("a=b".utf8))
    #expect(ended.errors.contains("> POST / HTTP/1.1\n"))
    #expect(ended.errors.contains("> Content-Length: 3\n>\n"))
    await server.shutdown()
  }

  /// `-q` leaves out the progress and the last line, not what `-v` tells.
  @Test func quietLeavesTheVerboseLines() async throws {
    let server = try await serve { _ in .ok("body") }
    let ended = try await sandbox.run("get", "-q", "-v", "-o", "x", server.url("/").absoluteString)
    let lines = ended.errors.split(separator: "\n")
    #expect(ended.status == 0 && lines.contains("> GET / HTTP/1.1"))
    #expect(lines.allSatisfy { [">", "<", "*"].contains($0.prefix(1)) }, "\(ended.errors)")
    await server.shutdown()
  }

  @Test func unreachableServer() async throws {
    let server = try await serve { _ in .ok("x") }
    let url = "http://me:topsecret@127.0.0.1:\(server.port)/"
    await server.shutdown()
    let ended = try await sandbox.run("get", "-v", url)
    #expect(ended.errors.contains("* loading http://me@127.0.0.1:\(server.port)/\n* not connected\n"))
    #expect(!ended.errors.contains("topsecret"))
  }

  @Test func fileURLNeedsNoConnection() async throws {
    try sandbox.write("content", to: "x.txt")
    let ended = try await sandbox.run("get", "-v", "file://\(sandbox.work)/x.txt")
    #expect(ended.text == "content")
    #expect(ended.errors.contains("< text/plain, 7 B\n<\n* from this machine\n"))
    #expect(!ended.errors.contains("> "))
  }
}
