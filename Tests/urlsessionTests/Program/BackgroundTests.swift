import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// The commands about transfers in the background, with a transfer service of the test's own.
struct BackgroundTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Starts a download and returns its number.
  private func download(_ arguments: String...) async throws -> Int {
    let ended = try await sandbox.start(["download", "--json"] + arguments).ended()
    #expect(ended.status == 0, "\(ended.errors)")
    return try #require(try ended.json()["transfer"] as? Int)
  }

  @Test func withoutAServiceThereAreNoTransfers() async throws {
    let list = try await sandbox.run("list")
    #expect(list.status == 0)
    #expect(list.text.isEmpty)
    #expect(list.errors == "No transfers; the transfer service does not run.\n")
    #expect(try await sandbox.run("list", "--json").json()["transfers"] as? [Int] == [])
    let show = try await sandbox.run("show", "17")
    #expect(show.status == 66)
    #expect(show.errors.contains("there is no transfer 17"))
  }

  @Test func downloadGoesOnWithoutTheProgram() async throws {
    let content = BytePattern(seed: 5)
    let gate = Gate()
    let server = try await LoopbackServer.start { _ in
      Reply([
        .head(200, fields: [("Content-Length", "300000")]), .pattern(content, count: 100_000), .waitFor(gate),
        .pattern(content, from: 100_000, count: 200_000),
      ])
    }
    let started = try await sandbox.run("download", server.url("/file.bin").absoluteString, "-o", "x")
    #expect(started.status == 0, "\(started.errors)")
    let words = started.text.split(separator: " ")
    #expect(started.text.hasPrefix("Transfer "))
    #expect(started.text.hasSuffix(": \(server.url("/file.bin").absoluteString) → \(sandbox.work)/x\n"))
    let number = try #require(words.dropFirst().first?.dropLast().description)
    #expect(started.errors.contains("urlsession wait \(number)"))
    #expect(sandbox.names.isEmpty)

    let list = try await sandbox.run("list", "--json").json()["transfers"] as? [[String: Any]]
    #expect(list?.count == 1)
    #expect(list?.first?["destination"] as? String == sandbox.work + "/x")

    gate.open()
    let waited = try await sandbox.run("wait", number)
    #expect(waited.status == 0, "\(waited.errors)")
    #expect(waited.text == "Transfer \(number): saved \(sandbox.work)/x (300 KB)\n")
    #expect(sandbox.content("x") == Data(content.bytes(count: 300_000)))
    #expect(sandbox.names == ["x"])

    #expect(try await sandbox.run("list").text.isEmpty)
    #expect(try await sandbox.run("list", "--all").text.contains("saved"))
    let shown = try await sandbox.run("show", number, "--json").json()
    #expect(shown["outcome"] as? String == "saved")
    #expect(shown["path"] as? String == sandbox.work + "/x")
    await server.shutdown()
  }

  @Test func onlyTheExpectedFileAppears() async throws {
    let server = try await LoopbackServer.start { _ in .ok("abc") }
    let url = server.url("/x").absoluteString
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    let right = try await sandbox.run("download", url, "-o", "right", "--wait", "--sha256", digest, "--size", "3")
    #expect(right.status == 0, "\(right.errors)")
    #expect(sandbox.content("right") == Data("abc".utf8))
    let other = String(repeating: "0", count: 64)
    let wrong = try await sandbox.run("download", url, "-o", "wrong", "--wait", "--sha256", other)
    #expect(wrong.status == 65 && wrong.errors.contains(digest) && wrong.errors.contains(other), "\(wrong.errors)")
    let long = try await sandbox.run("download", url, "-o", "long", "--wait", "--size", "4")
    #expect(long.status == 65 && long.errors.contains("3 bytes"), "\(long.errors)")
    #expect(sandbox.names == ["right"])
    await server.shutdown()
  }

  @Test func aDownloadIsTriedAsOftenAsItsCommandSays() async throws {
    let server = try await LoopbackServer.start { _ in .status(503, body: "busy") }
    let url = server.url("/x").absoluteString
    let ended = try await sandbox.run("download", url, "-o", "x", "--wait", "--retries", "2", "--retry-delay", "0.2")
    #expect(ended.status == 22 && ended.errors.contains("503"), "\(ended.errors)")
    #expect(server.requests.count == 3 && sandbox.names.isEmpty)
    await server.shutdown()
  }

  @Test func aDownloadBeginsWhenItsCommandSaysAndKeepsToItsRate() async throws {
    let server = try await LoopbackServer.start { _ in .ok("abc") }
    let url = server.url("/x").absoluteString
    let number = try await download(url, "-o", "x", "--not-before", "2h", "--limit", "500K")
    let shown = try await sandbox.run("show", "\(number)", "--json").json()
    #expect((shown["waiting"] as? [String: Any])?["code"] as? String == "earliestBegin")
    let limit = try #require((shown["limits"] as? [[String: Any]])?.first)
    #expect(limit["scope"] as? String == "transfer" && limit["bytesPerSecond"] as? Int == 500_000)
    let why = try await sandbox.run("why", "\(number)").text
    #expect(why.contains("not to begin before a date. It begins in "), "\(why)")
    #expect(try await sandbox.run("cancel", "\(number)").status == 0)
    #expect(server.requests.isEmpty)
    let past = try await sandbox.run("download", url, "-o", "x", "--wait", "--not-before", "2020-01-01")
    #expect(past.status == 0 && sandbox.content("x") == Data("abc".utf8), "\(past.errors)")
    await server.shutdown()
  }

  @Test func severalURLsAreATransferEach() async throws {
    let server = try await LoopbackServer.start { request in request.path == "/missing" ? .status(404) : .ok("body") }
    let urls = ["/a", "/b"].map { server.url($0).absoluteString }
    let started = try await sandbox.start(["download"] + urls).ended()
    #expect(started.status == 0 && started.lines.count == 2, "\(started.errors)")
    let numbers = started.lines.compactMap { $0.split(separator: " ").dropFirst().first?.dropLast().description }
    #expect(started.errors.contains("Follow them with `urlsession wait \(numbers.joined(separator: " "))`"))
    #expect(try await sandbox.start(["wait"] + numbers).ended().status == 0)
    #expect(sandbox.names == ["a.txt", "b.txt"])

    let missing = server.url("/missing").absoluteString
    let waited = try await sandbox.start(["download", "--wait", "--json"] + urls + [missing]).ended()
    let reports = try #require(try waited.json()["transfers"] as? [[String: Any]])
    #expect(reports.map { $0["outcome"] as? String } == ["saved", "saved", "httpError"])
    #expect(waited.status == 22 && sandbox.names == ["a (1).txt", "a.txt", "b (1).txt", "b.txt"], "\(waited.errors)")
    let queued = try await sandbox.start(["download", "--json"] + urls).ended()
    #expect((try queued.json()["transfers"] as? [[String: Any]])?.count == 2)
    let file = try await sandbox.start(["download"] + urls + ["-o", "x"]).ended()
    #expect(file.status == 64 && file.errors.contains("-o names one file for 2 URLs"), "\(file.errors)")
    await server.shutdown()
  }

  /// Each has a session, and the service has 128 connections for a program.
  @Test func moreURLsThanTheServiceHasConnectionsAreHandedOver() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let urls = (0..<140).map { server.url("/\($0)").absoluteString }
    let started = try await sandbox.start(["download"] + urls).ended()
    #expect(started.status == 0, "\(started.errors)")
    let numbers = started.lines.compactMap { $0.split(separator: " ").dropFirst().first?.dropLast() }
    #expect(Set(numbers).count == urls.count)
    // Each line names the URL of its transfer.
    #expect(zip(started.lines, urls).allSatisfy { $0.contains(" \($1) → ") })
    await server.shutdown()
  }

  /// 160 sessions want 128 connections, and no transfer ends.
  @Test func commandsOfManyURLsHandOverWhatOthersHaveNoPlaceFor() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let urls = (0..<40).map { server.url("/\($0)").absoluteString }
    let commands = try (0..<4).map { _ in try sandbox.start(["download", "--wait"] + urls) }
    for (number, command) in commands.enumerated() {
      try await eventually("command \(number) to hand over all") {
        // Each is named by a line then.
        urls.allSatisfy { command.errorsSoFar.contains(": \($0) → ") }
      }
    }
    #expect(commands.contains { $0.errorsSoFar.contains("urlsession: waiting to hand over ") })
    for command in commands { command.signal(SIGINT) }
    for command in commands { #expect(try await command.ended().status == 130) }
    await server.shutdown()
  }

  @Test func waitShowsProgressAndTheServersNameIsUsed() async throws {
    let server = try await LoopbackServer.start { _ in
      .ok("hello", fields: [("Content-Disposition", "attachment; filename=\"a.txt\"")])
    }
    try sandbox.write("mine", to: "a.txt")
    let ended = try await sandbox.run("download", "--wait", server.url("/y").absoluteString)
    #expect(ended.status == 0, "\(ended.errors)")
    #expect(sandbox.names == ["a (1).txt", "a.txt"])
    #expect(sandbox.content("a (1).txt") == Data("hello".utf8))
    #expect(ended.text.contains("a (1).txt (5 B)"))
    await server.shutdown()
  }

  @Test(arguments: [Reply.truncated(declared: 3_000, sent: 1_500), .status(404, body: "no")])
  func aFailureIsTheLastThatIsSaid(_ reply: Reply) async throws {
    let server = try await LoopbackServer.start { _ in reply }
    let ended = try await sandbox.run(
      "download", "--wait", "--retries", "0", server.url("/y").absoluteString, "-o", "x")
    #expect(ended.status != 0)
    // The body of an answer that is none of the file may be shown as it comes.
    #expect(!ended.errors.contains("is complete"), "\(ended.errors)")
    #expect(ended.errors.split(separator: "\n").last?.hasPrefix("urlsession: transfer ") == true, "\(ended.errors)")
    await server.shutdown()
  }

  @Test func statusOf400AndAboveIsAFailure() async throws {
    let server = try await LoopbackServer.start { _ in .status(404, body: "no") }
    try sandbox.write("old", to: "x")
    let ended = try await sandbox.run("download", "--wait", server.url("/y").absoluteString, "-o", "x")
    #expect(ended.status == 22)
    #expect(ended.errors.contains("404 not found"))
    #expect(sandbox.content("x") == Data("old".utf8))
    let shown = try await sandbox.run("list", "--all", "--json").json()["transfers"] as? [[String: Any]]
    #expect(shown?.first?["outcome"] as? String == "httpError")
    #expect(shown?.first?["httpStatus"] as? Int == 404)
    await server.shutdown()
  }

  @Test(
    arguments: [
      (304, nil), (300, nil), (206, nil), (206, "bytes 4-5/6"), (206, "bytes 0-1/6"),
    ] as [(Int, String?)]) func anAnswerThatIsNotTheFileReplacesNone(_ status: Int, _ range: String?) async throws
  {
    let server = try await LoopbackServer.start { _ in
      .status(status, fields: range.map { [("Content-Range", $0)] } ?? [], body: status == 304 ? "" : "no")
    }
    try sandbox.write("old", to: "x")
    let ended = try await sandbox.run("download", "--wait", server.url("/y").absoluteString, "-o", "x")
    #expect(ended.status == 22 && ended.errors.contains("answered \(status)"), "\(ended.errors)")
    #expect(sandbox.content("x") == Data("old".utf8))
    let shown = try await sandbox.run("list", "--all", "--json").json()["transfers"] as? [[String: Any]]
    #expect(shown?.first?["outcome"] as? String == "httpError")
    await server.shutdown()
  }

  @Test func aPartThatWasAskedForIsSaved() async throws {
    let server = try await LoopbackServer.start { _ in
      .status(206, fields: [("Content-Range", "bytes 4-7/9")], body: "body")
    }
    let url = server.url("/y").absoluteString
    let ended = try await sandbox.run("download", "--wait", url, "-H", "Range: bytes=4-7", "-o", "x")
    #expect(ended.status == 0 && sandbox.content("x") == Data("body".utf8), "\(ended.errors)")
    await server.shutdown()
  }

  @Test func fileOfARemovedFolderIsSavedElsewhere() async throws {
    let gate = Gate()
    let server = try await LoopbackServer.start { _ in
      Reply.ok("precious").preceded(by: [.waitFor(gate)])
    }
    let folder = sandbox.work + "/sub"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let number = try await download(server.url("/y").absoluteString, "-o", "sub/x")
    try FileManager.default.removeItem(atPath: folder)
    gate.open()
    let waited = try await sandbox.run("wait", "\(number)", "--json")
    #expect(waited.status == 23)
    let report = try #require((try waited.json()["transfers"] as? [[String: Any]])?.first)
    #expect(report["outcome"] as? String == "savedElsewhere")
    let path = try #require(report["path"] as? String)
    #expect(FileManager.default.contents(atPath: path) == Data("precious".utf8))
    #expect(path == sandbox.home.path + "/state/urlsession/rescued/x")
    await server.shutdown()
  }

  @Test(arguments: ["/proc/x", "/sys/x", "/proc/"]) func aTargetThatTakesNoFileIsRefusedAtOnce(_ target: String)
    async throws
  {
    let server = try await LoopbackServer.start { _ in .never }
    let urls = target.hasSuffix("/") ? ["/a", "/b"] : ["/a"]
    let ended = try await sandbox.start(
      ["download"] + urls.map { server.url($0).absoluteString } + ["-o", target]
    ).ended()
    #expect(ended.status == 23 && ended.text.isEmpty && ended.errors.contains("can't be written"), "\(ended.errors)")
    #expect(server.requests.isEmpty)
    // Nothing was queued, and no service was started.
    let list = try await sandbox.run("list", "--all", "--json").json()["transfers"] as? [[String: Any]]
    #expect(list?.isEmpty == true)
    await server.shutdown()
  }

  @Test func cancelEndsTheTransfer() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let number = try await download(server.url("/y").absoluteString, "-o", "x")
    let cancelled = try await sandbox.run("cancel", "\(number)", "999")
    #expect(cancelled.text == "Transfer \(number): cancelled\n")
    #expect(cancelled.status == 66, "999 is unknown")
    let waited = try await sandbox.run("wait", "\(number)")
    #expect(waited.status == 75, "\(waited.errors)")
    #expect(waited.errors.contains("cancelled"))
    #expect(try await sandbox.run("cancel", "\(number)").text == "Transfer \(number): already over\n")
    #expect(sandbox.names.isEmpty)
    await server.shutdown()
  }

  @Test func interruptedWaitLeavesTheTransferRunning() async throws {
    let gate = Gate()
    let arrived = Gate()
    let server = try await LoopbackServer.start { _ in
      Reply.ok("body").preceded(by: [.open(arrived), .waitFor(gate)])
    }
    let program = try sandbox.start(["download", "--wait", server.url("/y").absoluteString, "-o", "x"])
    try await arrived.wait(within: patience)
    try await eventually("the program to follow the transfer") { program.errorsSoFar.contains("Transfer ") }
    program.signal(SIGINT)
    let ended = try await program.ended()
    #expect(ended.status == 130)
    #expect(ended.errors.contains("goes on"))
    gate.open()
    let list = try await sandbox.run("list", "--all", "--json").json()["transfers"] as? [[String: Any]]
    let number = try #require(list?.first?["transfer"] as? Int)
    #expect(try await sandbox.run("wait", "\(number)").status == 0)
    #expect(sandbox.content("x") == Data("body".utf8))
    await server.shutdown()
  }

  @Test func waitReportsSeveralTransfers() async throws {
    let server = try await LoopbackServer.start { request in
      request.path == "/missing" ? .status(404) : .ok("body")
    }
    let good = try await download(server.url("/a").absoluteString, "-o", "a")
    let bad = try await download(server.url("/missing").absoluteString, "-o", "b")
    let waited = try await sandbox.run("wait", "\(good)", "\(bad)", "--json")
    #expect(waited.status == 22)
    let reports = try #require(try waited.json()["transfers"] as? [[String: Any]])
    #expect(reports.map { $0["outcome"] as? String } == ["saved", "httpError"])
    #expect(sandbox.names == ["a"])
    #expect(try await sandbox.run("wait", "\(good)", "12345").status == 66)
    await server.shutdown()
  }

  @Test func urlsThatWereNotQueuedAreNamedAndLeaveNoRecord() async throws {
    let urls = (0..<50).map { "http://127.0.0.1:1/\($0)" }
    let program = try RunningProgram(
      Sandbox.program("urlsession"), arguments: ["download"] + urls,
      environment: [
        "HOME": sandbox.home.path, "XDG_RUNTIME_DIR": sandbox.home.path + "/run",
        "XDG_STATE_HOME": sandbox.home.path + "/state", "URLSESSIOND_PATH": "/nonexistent/urlsessiond",
      ], folder: sandbox.work, files: sandbox.home.path + "/tmp/p", input: nil)
    let ended = try await program.ended()
    #expect(ended.status == 69 && ended.text.isEmpty)
    #expect(urls.allSatisfy { ended.errors.contains("Not queued: \($0): ") }, "\(ended.errors)")
    let records = try? FileManager.default.contentsOfDirectory(atPath: sandbox.home.path + "/state/urlsession/results")
    #expect(records?.contains { $0.hasSuffix(".json") } != true)
  }

  @Test func missingServiceIsReported() async throws {
    let program = try RunningProgram(
      Sandbox.program("urlsession"), arguments: ["download", "http://127.0.0.1:1/", "-o", "x"],
      environment: [
        "HOME": sandbox.home.path, "XDG_RUNTIME_DIR": sandbox.home.path + "/run",
        "URLSESSIOND_PATH": "/nonexistent/urlsessiond",
      ], folder: sandbox.work, files: sandbox.home.path + "/tmp/p", input: nil)
    let ended = try await program.ended()
    #expect(ended.status == 69)
    #expect(ended.errors.contains("URLSESSIOND_PATH"))
  }
}
