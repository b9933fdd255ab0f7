import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// `retry` of downloads that are over without their file.
struct RetryTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// What is in the folder for the bytes of failed downloads.
  private var keptFiles: [String] {
    let folder = sandbox.home.path + "/state/urlsession/parts"
    let all = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return all.filter { $0.hasSuffix(".tmp") }
  }

  @Test func aDownloadThatFailedGoesOnFromWhatHadArrived() async throws {
    let content = BytePattern(seed: 9)
    let isUp = Gate()
    let server = try await LoopbackServer.start { request in
      let fields: HeaderList = [("ETag", "\"v1\""), ("Accept-Ranges", "bytes")]
      guard let range = request.value("Range") else {
        return Reply([
          .head(200, fields: fields + [("Content-Length", "300000")]), .pattern(content, count: 100_000),
          .closeAbruptly,
        ])
      }
      guard isUp.isOpen, range == "bytes=100000-", request.value("If-Range") == "\"v1\"" else { return Reply([.reset]) }
      return Reply([
        .head(206, fields: fields + [("Content-Length", "200000"), ("Content-Range", "bytes 100000-299999/300000")]),
        .pattern(content, from: 100_000, count: 200_000),
      ])
    }
    let url = server.url("/f").absoluteString
    let failed = try await sandbox.run("download", url, "-o", "x", "--wait", "--retries", "1", "--retry-delay", "0")
    #expect(failed.status == 1 || failed.status == 69, "\(failed.status) \(failed.errors)")
    let list = try await sandbox.run("list", "--all", "--json").json()["transfers"] as? [[String: Any]]
    let number = "\(try #require(list?.first?["transfer"] as? Int))"
    #expect(failed.errors.contains("`urlsession retry \(number)`"), "\(failed.errors)")
    #expect(try await sandbox.run("why", number).text.hasSuffix("`urlsession retry \(number)` begins it again.\n"))
    #expect(keptFiles.count == 1 && sandbox.names.isEmpty)

    isUp.open()
    let retried = try await sandbox.run("retry", number)
    #expect(retried.status == 0, "\(retried.errors)")
    let start = "Transfer \(number): failed; begun again as transfer "
    #expect(retried.text.hasPrefix(start) && retried.text.hasSuffix(", from what had arrived\n"), "\(retried.text)")
    let again = retried.text.dropFirst(start.count).prefix { $0.isNumber }
    let waited = try await sandbox.run("wait", String(again))
    #expect(waited.status == 0, "\(waited.errors)")
    #expect(sandbox.content("x") == Data(content.bytes(count: 300_000)))
    #expect(server.requests.filter { $0.value("Range") == nil }.count == 1)
    #expect(keptFiles.isEmpty)
    let twice = try await sandbox.run("retry", number)
    #expect(twice.status == 1 && twice.errors.contains("it has begun again as transfer \(again)"), "\(twice.errors)")
    await server.shutdown()
  }

  @Test func aDownloadWithOptionsOfItsRequestKeepsNothing() async throws {
    let server = try await LoopbackServer.start { request in
      guard request.value("Range") == nil else { return Reply([.reset]) }
      return Reply([
        .head(200, fields: [("ETag", "\"v1\""), ("Accept-Ranges", "bytes"), ("Content-Length", "300000")]),
        .pattern(BytePattern(seed: 9), count: 100_000), .closeAbruptly,
      ])
    }
    let url = server.url("/f").absoluteString
    let failed = try await sandbox.run(
      "download", url, "-o", "x", "--wait", "--retries", "1", "--retry-delay", "0", "-H", "A: b")
    #expect(failed.errors.contains("`urlsession download`") && !failed.errors.contains("retry"), "\(failed.errors)")
    #expect(keptFiles.isEmpty)
    await server.shutdown()
  }

  /// A download that has failed with the first 100,000 bytes, and its number. `server` has the rest, unless it is asked for.
  private func failedDownload(_ url: String) async throws -> String {
    let failed = try await sandbox.run("download", url, "-o", "x", "--wait", "--retries", "0")
    #expect(failed.status != 0, "\(failed.errors)")
    let list = try await sandbox.run("list", "--all", "--json").json()["transfers"] as? [[String: Any]]
    return "\(try #require(list?.first?["transfer"] as? Int))"
  }

  /// Cuts the first answer.
  private func cuttingServer() async throws -> LoopbackServer {
    let isUp = Gate()
    return try await LoopbackServer.start { _ in
      let fields: HeaderList = [("ETag", "\"v1\""), ("Accept-Ranges", "bytes"), ("Content-Length", "300000")]
      guard !isUp.isOpen else {
        return Reply([.head(200, fields: fields), .pattern(BytePattern(seed: 9), count: 300_000)])
      }
      isUp.open()
      return Reply([.head(200, fields: fields), .pattern(BytePattern(seed: 9), count: 100_000), .closeAbruptly])
    }
  }

  /// Another program has changed the file.
  @Test(arguments: [50_000, 100_001]) func bytesThatAreNotThoseThatWereKeptAreNotUsed(length: Int) async throws {
    let server = try await cuttingServer()
    let number = try await failedDownload(server.url("/f").absoluteString)
    let file = try #require(keptFiles.first)
    #expect(truncate("\(sandbox.home.path)/state/urlsession/parts/\(file)", length) == 0)
    let retried = try await sandbox.run("retry", number)
    #expect(retried.status == 0 && !retried.text.contains("had arrived"), "\(retried.text)\(retried.errors)")
    let again = try #require(retried.text.split(separator: " ").last).trimmingCharacters(in: .newlines)
    #expect(try await sandbox.run("wait", again).status == 0)
    #expect(sandbox.content("x") == Data(BytePattern(seed: 9).bytes(count: 300_000)))
    await server.shutdown()
  }

  @Test func aDownloadBeginsOnceForSeveralCommands() async throws {
    let server = try await cuttingServer()
    let number = try await failedDownload(server.url("/f").absoluteString)
    let commands = try (0..<3).map { _ in try sandbox.start(["retry", number]) }
    var statuses: [Int32] = []
    for command in commands { statuses.append(try await command.ended().status) }
    #expect(statuses.sorted() == [0, 1, 1])
    let list = try await sandbox.run("list", "--all", "--json").json()["transfers"] as? [[String: Any]]
    #expect(list?.count == 2)
    await server.shutdown()
  }

  /// The service starts no program to take the end: `retry` does.
  @Test func aDownloadWhoseEndIsNotTakenGoesOnFromWhatHadArrived() async throws {
    let (isQueued, isUp) = (Gate(), Gate())
    let server = try await LoopbackServer.start { _ in
      let fields: HeaderList = [("ETag", "\"v1\""), ("Accept-Ranges", "bytes"), ("Content-Length", "300000")]
      guard !isUp.isOpen else {
        return Reply([.head(200, fields: fields), .pattern(BytePattern(seed: 9), count: 300_000)])
      }
      return Reply([.head(200, fields: fields), .pattern(BytePattern(seed: 9), count: 100_000), .closeAbruptly])
        .preceded(by: [.waitFor(isQueued)])
    }
    let started = try await sandbox.run(
      "download", server.url("/f").absoluteString, "-o", "x", "--json", "--retries", "0",
      variables: ["URLSESSIOND_LAUNCH_GRACE": "3600"])
    let number = "\(try #require(try started.json()["transfer"] as? Int, "\(started.errors)"))"
    isQueued.open()
    try await eventually("the end at the service") {
      try await sandbox.run("show", number, "--json").json()["state"] as? String == "completed"
    }
    #expect(try await sandbox.run("show", number, "--json").json()["outcome"] is NSNull)
    isUp.open()
    let retried = try await sandbox.run("retry", number)
    #expect(
      retried.status == 0 && retried.text.hasSuffix(", from what had arrived\n"), "\(retried.text)\(retried.errors)")
    let list = try await sandbox.run("list", "--json").json()["transfers"] as? [[String: Any]]
    for again in list?.compactMap({ $0["transfer"] as? Int }) ?? [] {
      #expect(try await sandbox.run("wait", "\(again)").status == 0)
    }
    #expect(sandbox.content("x") == Data(BytePattern(seed: 9).bytes(count: 300_000)))
    await server.shutdown()
  }

  @Test func aRecordThatCanNotBeLockedIsToldAsThat() async throws {
    let server = try await cuttingServer()
    let number = try await failedDownload(server.url("/f").absoluteString)
    let folder = sandbox.home.path + "/state/urlsession/results"
    let record = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".json") })
    // No mode keeps root from making a file.
    #expect(mkdir("\(folder)/\(record).lock", 0o700) == 0)
    let retried = try await sandbox.run("retry", number)
    #expect(retried.status == 23, "\(retried.errors)")
    #expect(retried.errors.contains("\(record).lock can't be written: Is a directory: make room"), "\(retried.errors)")
    await server.shutdown()
  }

  /// The record has the URL that the request has now; with a field it is not enough for the request.
  @Test(arguments: [true, false]) func anEditedDownloadBeginsWithItsPresentURL(isOfURLAlone: Bool) async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let url = server.url("/f").absoluteString
    let started = try await sandbox.run("download", url + "?old", "-o", "x", "--json")
    let number = "\(try #require(try started.json()["transfer"] as? Int))"
    let change = isOfURLAlone ? ["--url", url + "?new"] : ["-H", "A: b"]
    #expect(try await sandbox.start(["edit", number] + change).ended().status == 0)
    #expect(try await sandbox.run("cancel", number).status == 0)
    // Its end may not have been taken yet.
    let retried = try await sandbox.run("retry", number)
    #expect(retried.status == (isOfURLAlone ? 0 : 1), "\(retried.text)\(retried.errors)")
    if isOfURLAlone {
      _ = try await sandbox.run("wait", number)
      let report = try await sandbox.run("show", number, "--json")
      #expect(report.text.contains("cancelled"), "\(report.text)\(report.errors)")
      let list = try await sandbox.run("list", "--json").json()["transfers"] as? [[String: Any]]
      #expect(list?.compactMap { $0["url"] as? String } == [url + "?new"])
    } else {
      #expect(retried.errors.contains("other options of its command"))
    }
    await server.shutdown()
  }

  /// Of a status there are no bytes to go on from.
  @Test func aDownloadThatWasRefusedOrCancelledBeginsAgain() async throws {
    let isUp = Gate()
    let server = try await LoopbackServer.start { request in
      if request.path == "/slow", !isUp.isOpen { return .never }
      return isUp.isOpen ? .ok("abc") : .status(503)
    }
    let refused = try await sandbox.run("download", server.url("/f").absoluteString, "-o", "x", "--wait", "--json")
    #expect(refused.status == 22, "\(refused.errors)")
    let slow = try await sandbox.run("download", server.url("/slow").absoluteString, "-o", "y", "--json").json()
    let numbers = [try refused.json(), slow].compactMap { $0["transfer"] as? Int }.map(String.init)
    try #require(numbers.count == 2)
    #expect(try await sandbox.run("cancel", numbers[1]).status == 0)
    _ = try await sandbox.run("wait", numbers[1])
    isUp.open()
    let retried = try await sandbox.start(["retry"] + numbers).ended()
    #expect(retried.status == 0, "\(retried.errors)")
    let lines = retried.text.split(separator: "\n")
    try #require(lines.count == 2)
    #expect(lines[0].hasPrefix("Transfer \(numbers[0]): HTTP 503; begun again as transfer "), "\(lines[0])")
    #expect(lines[1].hasPrefix("Transfer \(numbers[1]): cancelled; begun again as transfer "), "\(lines[1])")
    let again = lines.compactMap { $0.split(separator: " ").last.map(String.init) }
    #expect(try await sandbox.start(["wait"] + again).ended().status == 0)
    #expect(sandbox.content("x") == Data("abc".utf8) && sandbox.content("y") == Data("abc".utf8))
    await server.shutdown()
  }

  /// The queue and its copy are gone.
  @Test(arguments: [true, false]) func aLostDownloadIsBegunAgainWhereItsRequestIsKnown(isKnown: Bool) async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let url = server.url("/f").absoluteString
    let fields = isKnown ? [] : ["-H", "A: b"]
    let started = try await sandbox.start(["download", "--json", url, "-o", "x"] + fields).ended()
    let number = try #require(try started.json()["transfer"] as? Int, "\(started.errors)")
    sandbox.endPrograms()
    let folder = sandbox.home.path + "/state/urlsessiond"
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
    // By it the next queue knows which numbers were given away.
    #expect(mkdir(folder + "/partial", 0o700) == 0)
    try Data("bytes".utf8).write(to: URL(fileURLWithPath: "\(folder)/partial/\(number)"))
    let retried = try await sandbox.run("retry", "\(number)")
    if isKnown {
      #expect(retried.status == 0, "\(retried.errors)")
      #expect(retried.text.hasPrefix("Transfer \(number): lost; begun again as transfer "))
      let list = try await sandbox.run("list", "--json").json()["transfers"] as? [[String: Any]]
      #expect(list?.compactMap { $0["url"] as? String } == [url])
      #expect(list?.first?["destination"] as? String == sandbox.work + "/x")
      let again = try await sandbox.run("retry", "\(number)")
      #expect(again.status == 1 && again.errors.contains("it has begun again as transfer "), "\(again.errors)")
    } else {
      #expect(retried.status == 1 && retried.errors.contains("urlsession download '\(url)' -o '\(sandbox.work)/x'"))
    }
    await server.shutdown()
  }
}
