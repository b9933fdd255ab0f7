import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// `get --har`, run as a program.
struct HARTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func log(_ name: String) throws -> HARLog { try HARLog(decoding: try #require(sandbox.content(name))) }

  @Test(arguments: [false, true]) func everyRedirectIsExported(_ showsCredentials: Bool) async throws {
    let server = try await LoopbackServer.start { $0.path == "/a" ? .redirect(to: "/b") : .ok("body") }
    let arguments = ["get", server.url("/a").absoluteString, "-H", "Authorization: s3cret", "--har", "x.har"]
    let ended = try await sandbox.start(arguments + (showsCredentials ? ["--har-credentials"] : [])).ended()
    #expect(ended.status == 0 && ended.text == "body")
    let log = try log("x.har")
    #expect(log.creator.name == "urlsession")
    #expect(log.entries.map(\.response.status) == [302, 200])
    #expect(log.entries.map(\.request.url) == [server.url("/a").absoluteString, server.url("/b").absoluteString])
    let text = String(decoding: sandbox.content("x.har") ?? Data(), as: UTF8.self)
    #expect(text.contains("s3cret") == showsCredentials)
    #expect(try permissions("x.har") == 0o600)
    await server.shutdown()
  }

  private func permissions(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: "\(sandbox.work)/\(name)")[.posixPermissions] as? Int
  }

  /// A server may name a user in whichever field has a URL.
  @Test func nothingShowsWhatAServerSaysOfUsers() async throws {
    let fields: HeaderList = [
      ("Content-Location", "http://joe:s3cret@h/z"), ("Link", "<//joe:a,s3cret@h/a@b>; rel=x, </c>"),
      ("Set-Cookie", "sid=s3cret"), ("X-Mail", "joe@example.com"),
    ]
    let server = try await LoopbackServer.start { request in
      guard request.path == "/a" else { return .ok("body", fields: fields) }
      return .status(
        302,
        fields: [
          ("Location", "//joe:s3cret@127.0.0.1:\(request.head.value("Host")?.split(separator: ":").last ?? "")/b")
        ])
    }
    let ended = try await sandbox.run(
      "get", server.url("/a").absoluteString, "-v", "--json", "-o", "out", "--har", "x.har")
    #expect(ended.status == 0)
    let har = String(decoding: sandbox.content("x.har") ?? Data(), as: UTF8.self)
    for text in [ended.text, ended.errors, har] {
      #expect(!text.contains("s3cret"), "\(text)")
      #expect(text.contains("joe@example.com") && text.contains("a@b"))
    }
    await server.shutdown()
  }

  @Test(arguments: [
    ["-o", "x", "--har", "x"], ["--har", "./x", "--cookie-jar", "x"], ["-o", "x", "--cookie-jar", "y/../x"],
  ])
  func twoOutputsDoNotNameOneFile(_ options: [String]) async throws {
    let ended = try await sandbox.start(["get", "http://localhost:1/"] + options).ended()
    #expect(ended.status == 64 && ended.errors.contains("name the same file"), "\(ended.errors)")
  }

  @Test func failedTransactionsAreExported() async throws {
    let ended = try await sandbox.run("get", "http://no-such-host.invalid/", "--har", "x.har")
    #expect(ended.status == 1)
    #expect(try log("x.har").entries.map(\.response.status) == [0])
  }

  /// Nothing is loaded whose record could not be kept.
  @Test(arguments: [("--har", "missing/x"), ("--har", "."), ("--har", "new/"), ("--cookie-jar", "missing/x")])
  func unwritableFileIsAnErrorBeforeTheLoad(_ option: String, _ path: String) async throws {
    let server = try await LoopbackServer.start { _ in .ok("body") }
    let ended = try await sandbox.run("get", server.url("/").absoluteString, option, path)
    #expect(ended.status == 23 && ended.text.isEmpty && server.requests.isEmpty)
    #expect(ended.errors.contains("\(path) can't be written") && ended.errors.contains(option), "\(ended.errors)")
    await server.shutdown()
    #expect(try await sandbox.run("get", "http://localhost/", "--har-credentials").status == 64)
  }
}
