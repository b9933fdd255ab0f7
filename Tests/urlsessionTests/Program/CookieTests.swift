import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@testable import urlsession

/// `get --cookie-jar` and `cookies`.
struct CookieTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func aCookieFileIsSentAndKeptUpToDate() async throws {
    let server = try await LoopbackServer.start { request in
      request.target == "/in"
        ? .redirect(
          to: "/page",
          fields: [("Set-Cookie", "session=1; Path=/"), ("Set-Cookie", "long=2; Path=/; Max-Age=1000; HttpOnly")])
        : .ok("page")
    }
    let first = try await sandbox.run("get", server.url("/in").absoluteString, "--cookie-jar", "jar.txt")
    #expect(first.status == 0 && first.text == "page", "\(first.errors)")
    let jar = String(decoding: try #require(sandbox.content("jar.txt")), as: UTF8.self)
    #expect(jar.hasPrefix("# Netscape HTTP Cookie File\n"))
    #expect(jar.contains("127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t1\n"))
    #expect(jar.contains("#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t"))
    #expect(try mode(sandbox.work + "/jar.txt") == 0o600)
    _ = try await sandbox.run("get", server.url("/page").absoluteString, "--cookie-jar", "jar.txt")
    #expect(server.requests.map { $0.value("Cookie") } == [nil, "session=1; long=2", "session=1; long=2"])
    // Without the option there are no cookies, not even on the way.
    _ = try await sandbox.run("get", server.url("/in").absoluteString)
    #expect(server.requests.suffix(2).map { $0.value("Cookie") } == [nil, nil])
    await server.shutdown()
  }

  @Test func aFileThatIsNoCookieFileIsLeftAlone() async throws {
    try sandbox.write("a letter\n", to: "letter.txt")
    let ended = try await sandbox.run("get", "data:,x", "--cookie-jar", "letter.txt")
    #expect(ended.status == 64)
    #expect(ended.errors.contains("letter.txt is no cookie file"))
    #expect(sandbox.content("letter.txt") == Data("a letter\n".utf8))
  }

  @Test func theCookiesOfAppsAreListedAndRemoved() async throws {
    let folder = sandbox.home.path + "/.local/share/url-loading-system/apps/my-app"
    let storage = HTTPCookieStorage(directory: folder)
    for domain in [".example.com", "www.example.com", "example.org"] {
      let properties: [HTTPCookiePropertyKey: Any] = [
        .name: "n", .value: "secret", .domain: domain, .path: "/", .secure: "TRUE",
        .expires: Date(timeIntervalSinceNow: 1_000),
      ]
      storage.setCookie(try #require(HTTPCookie(properties: properties)))
    }
    #expect(await storage.isWritten())
    let list = try await sandbox.run("cookies", "list")
    #expect(list.status == 0, "\(list.errors)")
    #expect(list.text.contains("my-app") && list.text.contains(".example.com") && !list.text.contains("secret"))
    let file = try await sandbox.run("cookies", "list", "--app", "my-app", "--netscape").text
    #expect(file.contains(".example.com\tTRUE\t/\tTRUE\t") && file.contains("\tn\tsecret\n"))
    #expect(try await sandbox.run("cookies", "clear", "--domain", "example.com").status == 0)
    #expect(storage.cookies?.map { $0.domain } == ["example.org"])
    #expect(try await sandbox.run("cookies", "clear").status == 0)
    #expect(storage.cookies == [])
    let other = try await sandbox.run("cookies", "list", "--app", "other")
    #expect(other.status == 64 && other.errors.contains("no app named other keeps cookies"))
  }
}
