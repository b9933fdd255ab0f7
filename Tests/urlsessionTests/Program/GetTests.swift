import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import urlsession

/// The built program against a server.
struct GetTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func serve(
    _ handler: @escaping @Sendable (RecordedRequest) async throws -> Reply
  ) async throws -> LoopbackServer { try await LoopbackServer.start(handler: handler) }

  // MARK: To standard output

  @Test func bodyGoesToStandardOutput() async throws {
    let content = BytePattern(seed: 7)
    let server = try await serve { _ in .pattern(content, count: 3_000_000) }
    let ended = try await sandbox.run("get", server.url("/x").absoluteString)
    #expect(ended.status == 0)
    #expect(ended.output == Data(content.bytes(count: 3_000_000)))
    #expect(ended.errors.isEmpty)
    await server.shutdown()
  }

  @Test func statusOf400AndAboveKeepsTheBody() async throws {
    let server = try await serve { _ in .status(404, body: "explanation") }
    let ended = try await sandbox.run("get", server.url("/x").absoluteString)
    #expect(ended.status == 22)
    #expect(ended.text == "explanation")
    #expect(ended.errors.hasPrefix("urlsession: "))
    #expect(ended.errors.contains("404 not found"))
    await server.shutdown()
  }

  @Test func refusedConnection() async throws {
    let server = try await serve { _ in .ok("x") }
    let url = server.url("/").absoluteString
    await server.shutdown()
    let ended = try await sandbox.run("get", url)
    #expect(ended.status == 1)
    #expect(ended.text.isEmpty)
    #expect(ended.errors.contains("Could not connect to 127.0.0.1"))
    #expect(ended.errors.contains("check the host"))
  }

  @Test func truncatedBodyFails() async throws {
    let server = try await serve { _ in .truncated(declared: 1000, sent: 10) }
    let ended = try await sandbox.run("get", server.url("/").absoluteString)
    #expect(ended.status == 1)
    #expect(ended.output.count == 10)
    #expect(ended.errors.contains("lost"))
    await server.shutdown()
  }

  @Test func headIsIncludedOnRequest() async throws {
    let server = try await serve { _ in .ok("body", fields: [("X-One", "1")]) }
    let ended = try await sandbox.run("get", "-i", server.url("/").absoluteString)
    #expect(ended.text.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(ended.text.contains("\r\nX-One: 1\r\n"))
    #expect(ended.text.hasSuffix("\r\n\r\nbody"))
    await server.shutdown()
  }

  @Test func sendsMethodFieldsAndBody() async throws {
    let server = try await serve { .ok($0.body.text) }
    let url = server.url("/form").absoluteString
    let ended = try await sandbox.run(
      "get", "-X", "PATCH", "-H", "X-A: 1", "-H", "Content-Type: text/plain", "-d", "a=b", url)
    #expect(ended.text == "a=b")
    let request = try await server.nextRequest()
    #expect(request.method == "PATCH")
    #expect(request.value("X-A") == "1")
    #expect(request.value("Content-Type") == "text/plain")
    #expect(request.value("User-Agent")?.hasPrefix("urlsession/") == true)

    try sandbox.write("from a file", to: "body")
    #expect(try await sandbox.run("get", "-d", "@body", url).text == "from a file")
    #expect(try await server.nextRequest().method == "POST")
    #expect(try await sandbox.run("get", "-d", "@-", url, input: "from input").text == "from input")
    #expect(try await sandbox.run("get", "-d", "@missing", url).status == 64)
    #expect(try await sandbox.run("get", "-d", "a=1", "-d", "@body", url).text == "a=1&from a file")
    await server.shutdown()
  }

  @Test func timeLimits() async throws {
    let server = try await serve { _ in .never }
    let url = server.url("/").absoluteString
    for option in ["--timeout", "--max-time"] {
      let ended = try await sandbox.run("get", option, "0.2", url)
      #expect(ended.status == 28 && ended.errors.contains(option), "\(ended.errors)")
      #expect(!ended.errors.contains("timeoutInterval"), "\(ended.errors)")
    }
    await server.shutdown()
  }

  @Test func outputThatCannotTakeIt() async throws {
    let server = try await serve { _ in .pattern(BytePattern(), count: 100_000) }
    let ended = try await sandbox.run("get", server.url("/").absoluteString, "-o", "/dev/full")
    #expect(ended.status == 23)
    #expect(ended.errors.contains("/dev/full can't be written"))
    await server.shutdown()
  }

  // MARK: To a file

  @Test func fileIsReplacedAtTheEnd() async throws {
    let gate = Gate()
    let arrived = Gate()
    let content = BytePattern(seed: 3)
    let server = try await serve { _ in
      Reply([
        .head(200, fields: [("Content-Length", "2000000")]), .pattern(content, count: 1_500_000), .open(arrived),
        .waitFor(gate), .pattern(content, from: 1_500_000, count: 500_000),
      ])
    }
    try sandbox.write("old", to: "x")
    let program = try sandbox.start(["get", server.url("/").absoluteString, "-o", "x"])
    try await arrived.wait(within: patience)
    #expect(sandbox.content("x") == Data("old".utf8))
    gate.open()
    let ended = try await program.ended()
    #expect(ended.status == 0)
    #expect(sandbox.content("x") == Data(content.bytes(count: 2_000_000)))
    #expect(sandbox.names == ["x"])
    #expect(ended.text.isEmpty)
    #expect(ended.errors.contains("x: 2 MB in "))
    await server.shutdown()
  }

  @Test(
    arguments: [
      (Reply.status(404, body: "no"), 22), (.status(500, body: "no"), 22), (.status(304), 22),
      (.status(300, body: "no"), 22), (.status(206, body: "no"), 22),
      (.status(206, fields: [("Content-Range", "bytes 4-5/6")], body: "no"), 22),
      (.status(206, fields: [("Content-Range", "bytes 0-1/6")], body: "no"), 22),
      (.truncated(declared: 100_000, sent: 50_000), 1),
      (.truncated(declared: 100_000, sent: 50_000, ending: .reset), 1),
    ] as [(Reply, Int32)]) func failureLeavesTheOldFileAndNothingElse(_ reply: Reply, _ status: Int32) async throws
  {
    let server = try await serve { _ in reply }
    try sandbox.write("old", to: "x")
    let ended = try await sandbox.run("get", server.url("/").absoluteString, "-o", "x")
    #expect(ended.status == status)
    #expect(ended.text.isEmpty)
    #expect(sandbox.content("x") == Data("old".utf8))
    #expect(sandbox.names == ["x"])
    await server.shutdown()
  }

  @Test func aPartIsTheFileWhereItIsTheWholeOrWasAskedFor() async throws {
    let server = try await serve { request in
      let range = request.path == "/whole" ? "bytes 0-3/4" : "bytes 4-7/9"
      return .status(206, fields: [("Content-Range", range)], body: "body")
    }
    let whole = try await sandbox.run("get", server.url("/whole").absoluteString, "-o", "x")
    #expect(whole.status == 0 && sandbox.content("x") == Data("body".utf8), "\(whole.errors)")
    let part = server.url("/part").absoluteString
    let asked = try await sandbox.run("get", part, "-H", "Range: bytes=4-7", "-o", "y")
    #expect(asked.status == 0 && sandbox.content("y") == Data("body".utf8), "\(asked.errors)")
    let unasked = try await sandbox.run("get", part, "-o", "z")
    #expect(unasked.errors.contains("answered 206") && unasked.errors.contains("the whole was asked for"))
    #expect(sandbox.names == ["x", "y"])
    await server.shutdown()
  }

  @Test func folderGetsTheServersNameAndNoPath() async throws {
    let server = try await serve { _ in
      .ok("x", fields: [("Content-Disposition", "attachment; filename=\"../../report.txt\"")])
    }
    let url = server.url("/y").absoluteString
    #expect(try await sandbox.run("get", "-q", url, "-o", "./").status == 0)
    #expect(sandbox.names == ["_.._report.txt"])
    let second = try await sandbox.run("get", "-q", url, "-o", ".")
    #expect(second.errors.isEmpty)
    #expect(sandbox.names == ["_.._report (1).txt", "_.._report.txt"])
    #expect(try await sandbox.run("get", url, "-o", "missing/").status == 23)
    await server.shutdown()
  }

  @Test func jsonReport() async throws {
    let server = try await serve { request in
      request.path == "/a" ? .redirect(to: "/b") : .ok("body", fields: [("X-One", "1")])
    }
    let report = try await sandbox.run("get", "--json", "-o", "x", server.url("/a").absoluteString).json()
    #expect(
      Set(report.keys) == [
        "url", "finalURL", "status", "statusText", "headers", "bytes", "seconds", "path", "error", "exitCode",
      ])
    #expect(report["finalURL"] as? String == server.url("/b").absoluteString)
    #expect(report["status"] as? Int == 200)
    #expect(report["bytes"] as? Int == 4)
    #expect(report["path"] as? String == sandbox.work + "/x")
    #expect((report["headers"] as? [String: String])?["X-One"] == "1")
    await server.shutdown()
    let failed = try await sandbox.run("get", "--json", "-o", "y", server.url("/a").absoluteString)
    #expect(failed.status == 1)
    #expect(try failed.json()["exitCode"] as? Int == 1)
    #expect(try failed.json()["path"] is NSNull)
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func signalLeavesNothingBehind(_ number: Int32, _ status: Int32) async throws {
    let arrived = Gate()
    let server = try await serve { _ in
      Reply([
        .head(200, fields: [("Content-Length", "2000000")]), .pattern(BytePattern(), count: 1_500_000), .open(arrived),
        .stall,
      ])
    }
    let program = try sandbox.start(["get", server.url("/").absoluteString, "-o", "x"])
    try await arrived.wait(within: patience)
    // What the server has sent may not have arrived.
    try await eventually("the bytes to be in a hidden folder") { sandbox.names.count == 1 }
    #expect(sandbox.names.first?.hasPrefix(".urlsession-") == true)
    program.signal(number)
    let ended = try await program.ended()
    #expect(ended.status == status)
    #expect(ended.errors.contains("urlsession: interrupted"))
    #expect(sandbox.names.isEmpty)
    await server.shutdown()
  }

  @Test func anInterruptionSaysHowMuchWasWritten() async throws {
    let server = try await serve { _ in
      Reply([.head(200, fields: [("Content-Length", "2000")]), .pattern(BytePattern(), count: 1500), .stall])
    }
    let program = try sandbox.start(["get", server.url("/").absoluteString])
    try await eventually("the bytes to be written") { program.outputSoFar.count == 1500 }
    program.signal(SIGINT)
    let ended = try await program.ended()
    #expect(ended.status == 130 && ended.errors.contains("1.5 KB were written to standard output"), "\(ended.errors)")
    await server.shutdown()
  }
}

/// `get --continue`.
struct ContinuingGetTests {
  private let sandbox: Sandbox
  private let file = FileResource(size: 3_000_000)

  init() throws { sandbox = try Sandbox() }

  private var content: Data { Data(file.version.pattern.bytes(count: 3_000_000)) }

  private func serve() async throws -> LoopbackServer {
    let file = file
    return try await LoopbackServer.start { file.reply(to: $0) }
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func anInterruptedLoadGoesOn(_ number: Int32, _ status: Int32) async throws {
    file.update { $0.cuts = [.after(2_000_000, .stall)] }
    let server = try await serve()
    let arguments = ["get", "-C", "-o", "x", server.url("/f").absoluteString]
    let program = try sandbox.start(arguments)
    try await eventually("some bytes to be in the file") { partSize ?? 0 > 0 }
    program.signal(number)
    let ended = try await program.ended()
    #expect(ended.status == status && ended.errors.contains("are kept"), "\(ended.errors)")
    #expect(sandbox.names == [".x.urlsession"])
    let second = try await sandbox.start(arguments).ended()
    #expect(second.status == 0, "\(second.errors)")
    #expect(FileManager.default.contents(atPath: sandbox.work + "/x") == content)
    #expect(sandbox.names == ["x"])
    let offset = try #require(file.served.last?.offset)
    #expect(file.served.count == 2 && offset > 0 && offset <= 2_000_000, "\(file.served)")
    await server.shutdown()
  }

  @Test func aLostConnectionIsContinued() async throws {
    file.update { $0.cuts = [.after(1_000_000)] }
    let server = try await serve()
    let arguments = ["get", "--continue", "-o", "x", server.url("/f").absoluteString]
    let first = try await sandbox.start(arguments).ended()
    #expect(first.status == 1 && first.errors.contains("the same command goes on"), "\(first.errors)")
    #expect(try await sandbox.start(arguments).ended().status == 0)
    #expect(FileManager.default.contents(atPath: sandbox.work + "/x") == content)
    #expect(file.served.map(\.status) == [200, 206])
    await server.shutdown()
  }

  @Test func thePartOfAnotherURLIsNotTaken() async throws {
    file.update { $0.cuts = [.after(1_000_000)] }
    let server = try await serve()
    _ = try await sandbox.run("get", "-C", "-o", "x", server.url("/one").absoluteString)
    let second = try await sandbox.run("get", "-C", "-o", "x", server.url("/two").absoluteString)
    #expect(second.status == 0)
    #expect(file.served.map(\.status) == [200, 200])
    #expect(sandbox.names == ["x"])
    await server.shutdown()
  }

  @Test func aFileOfTwoProgramsIsRefusedToTheSecond() async throws {
    file.update { $0.cuts = [.after(2_000_000, .stall)] }
    let server = try await serve()
    let arguments = ["get", "-C", "-o", "x", server.url("/f").absoluteString]
    let program = try sandbox.start(arguments)
    try await eventually("some bytes to be in the file") { partSize ?? 0 > 0 }
    let second = try await sandbox.start(arguments).ended()
    #expect(second.status == 23 && second.errors.contains("another program"), "\(second.status) \(second.errors)")
    program.signal(SIGINT)
    #expect(try await program.ended().status == 130)
    await server.shutdown()
  }

  @Test(arguments: [["-C"], ["-C", "-o", "-"], ["-C", "-o", "x", "-d", "a"], ["-C", "-o", "."]])
  func itNeedsAFileAndGET(_ options: [String]) async throws {
    let ended = try await sandbox.start(["get"] + options + ["http://127.0.0.1:1/"]).ended()
    #expect(ended.status == 64 && ended.errors.contains("--continue"))
  }

  /// Bytes of the partial file; nil without one.
  private var partSize: Int64? {
    let folder = sandbox.work + "/.x.urlsession"
    let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    guard let name = names.first(where: { $0.hasSuffix(".tmp") }) else { return nil }
    return (try? FileManager.default.attributesOfItem(atPath: folder + "/" + name))?[.size] as? Int64
  }
}

/// The words that other programs and people rely on.
struct ProgramTests {
  @Test(arguments: ["bash", "zsh", "fish"]) func completions(_ shell: String) async throws {
    let ended = try await Sandbox().run("--generate-completion-script", shell)
    #expect(ended.status == 0)
    for command in ["get", "download", "list", "show", "wait", "cancel"] { #expect(ended.text.contains(command)) }
  }

  @Test func usage() async throws {
    let ended = try await Sandbox().run("get", "nonsense")
    #expect(ended.status == 64)
    #expect(ended.text.isEmpty)
    #expect(ended.errors.contains("urlsession get"))
  }

  @Test func version() async throws {
    #expect(try await Sandbox().run("--version").lines == [ProgramVersion.current])
  }
}
