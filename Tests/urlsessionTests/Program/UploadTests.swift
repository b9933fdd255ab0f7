import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// The command `upload`, with a transfer service of the test's own.
struct UploadTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test func theFileMayChangeOnceTheCommandHasReturned() async throws {
    let gate = Gate()
    var options = LoopbackServer.Options()
    options.onHead = { _ in
      .reply(Reply([.waitFor(gate), .readRequestBody(), .head(201, fields: [("Content-Length", "0")])]))
    }
    let server = try await LoopbackServer.start(options: options) { _ in .status(500) }
    try sandbox.write("content", to: "f")
    let started = try await sandbox.run("upload", "f", server.url("/in").absoluteString, "--json", "-H", "X-Mark: 1")
    #expect(started.status == 0, "\(started.errors)")
    let number = try #require(try started.json()["transfer"] as? Int)
    try sandbox.write("changed", to: "f")
    gate.open()
    let waited = try await sandbox.run("wait", "\(number)")
    #expect(waited.status == 0, "\(waited.errors)")
    #expect(waited.text == "Transfer \(number): sent \(sandbox.work)/f (7 B)\n")
    let request = try #require(server.requests.first)
    #expect(request.method == "PUT" && request.body.text == "content" && request.value("X-Mark") == "1")
    #expect(sandbox.content("f") == Data("changed".utf8))
    let shown = try await sandbox.run("show", "\(number)", "--json").json()
    #expect(shown["kind"] as? String == "upload" && shown["httpStatus"] as? Int == 201)
    await server.shutdown()
  }

  /// The kernel makes such a file while it is read, and tells a length of 0.
  @Test func aFileWhoseLengthIsNotToldIsRefused() async throws {
    let ended = try await sandbox.run("upload", "/proc/self/status", "http://127.0.0.1:1/in")
    #expect(ended.status == 1 && ended.text.isEmpty, "\(ended.errors)")
    #expect(ended.errors.contains("Upload a copy of it"), "\(ended.errors)")
    let server = try await LoopbackServer.start { _ in .status(201) }
    try sandbox.write("", to: "empty")
    let empty = try await sandbox.run("upload", "empty", server.url("/in").absoluteString, "--wait")
    #expect(empty.status == 0, "\(empty.errors)")
    await server.shutdown()
  }

  @Test func aStatusOf400IsAFailure() async throws {
    let server = try await LoopbackServer.start { _ in .status(403) }
    try sandbox.write("content", to: "f")
    let ended = try await sandbox.run("upload", "f", server.url("/in").absoluteString, "--wait", "-X", "POST")
    #expect(ended.status == 22, "\(ended.errors)")
    #expect(server.requests.first?.method == "POST")
    await server.shutdown()
  }

  @Test func anUploadIsTriedAsOftenAsItsCommandSays() async throws {
    let server = try await LoopbackServer.start { _ in .status(503, body: "busy") }
    try sandbox.write("content", to: "f")
    let url = server.url("/in").absoluteString
    let ended = try await sandbox.run("upload", "f", url, "--wait", "--retries", "2", "--retry-delay", "0.2")
    #expect(ended.status == 22 && ended.errors.contains("503"), "\(ended.errors)")
    #expect(server.requests.map(\.body.text) == ["content", "content", "content"])
    await server.shutdown()
  }

  @Test func anUploadWaitsForItsDateAndKeepsItsLimit() async throws {
    try sandbox.write("content", to: "f")
    let started = try await sandbox.run(
      "upload", "f", "http://127.0.0.1:1/in", "--not-before", "2h", "--limit", "1.5M", "--json")
    #expect(started.status == 0, "\(started.errors)")
    let number = "\(try #require(try started.json()["transfer"] as? Int))"
    let shown = try await sandbox.run("show", number, "--json").json()
    #expect((shown["waiting"] as? [String: Any])?["code"] as? String == "earliestBegin")
    let limits = try #require(shown["limits"] as? [[String: Any]])
    #expect(limits.map { $0["bytesPerSecond"] as? Int } == [1_500_000])
    #expect(try await sandbox.run("cancel", number).status == 0)
  }

  @Test func theForegroundPrintsTheAnswer() async throws {
    let server = try await LoopbackServer.start { .ok("got \($0.body.text)") }
    try sandbox.write("content", to: "f")
    let ended = try await sandbox.run("upload", "f", server.url("/in").absoluteString, "--foreground")
    #expect(ended.status == 0, "\(ended.errors)")
    #expect(ended.text == "got content")
    await server.shutdown()
  }

  @Test func aFileThatCannotBeReadIsSaid() async throws {
    let ended = try await sandbox.run("upload", "none", "http://localhost/")
    #expect(ended.status == 64 && ended.errors.contains("none can't be read"))
  }
}
