import ArgumentParser
import Foundation
import Testing
import URLLoadingSystem

@testable import urlsession

struct ArgumentTests {
  @Test(arguments: [
    ("http://example.com", true), ("HTTPS://example.com/a?b#c", true), ("http://[::1]:8080/", true),
    ("file:///etc/hostname", true), ("data:,hello", true), ("ftp://example.com/x", true),
    ("example.com", false), ("localhost:8080/x", false), ("/a/path", false), ("", false), ("http://", false),
    ("http:///path", false), ("mailto:a@example.com", false),
  ]) func url(_ text: String, _ isTaken: Bool) { #expect((URLArgument(argument: text) != nil) == isTaken) }

  @Test(arguments: [
    ("Accept: text/html", "Accept", "text/html"), ("X:y", "X", "y"), ("X-Empty:", "X-Empty", ""),
    ("X: a: b ", "X", "a: b"), ("X:\t tab\tinside ", "X", "tab\tinside"), ("X: ümlaut", "X", "ümlaut"),
  ]) func header(_ text: String, _ name: String, _ value: String) {
    let header = HeaderArgument(argument: text)
    #expect(header?.name == name)
    #expect(header?.value == value)
  }

  /// RFC 9110 §5.6.2 and §5.5: nothing that would end the line or the name early.
  @Test(arguments: ["", "no colon", ": value", "a b: c", "X: a\nY: b", "X: a\r", "X\n: a", "é: a", "X: \u{7F}"])
  func headerThatIsNone(_ text: String) { #expect(HeaderArgument(argument: text) == nil) }

  @Test(arguments: [
    ("a=b", BodyArgument.text("a=b")), ("@file", .file("file")), ("@-", .standardInput), ("", .text("")),
  ]) func body(_ text: String, _ body: BodyArgument) { #expect(BodyArgument(argument: text) == body) }

  @Test func getMakesTheRequest() throws {
    let command = try GetCommand.parse([
      "http://example.com/", "-X", "PUT", "-H", "Accept: a/b", "-H", "X: 1", "-d", "body", "--timeout", "2.5",
    ])
    let request = try command.request()
    #expect(request.httpMethod == "PUT")
    #expect(request.value(forHTTPHeaderField: "Accept") == "a/b")
    #expect(request.value(forHTTPHeaderField: "X") == "1")
    #expect(request.httpBody == Data("body".utf8))
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/x-www-form-urlencoded")
    #expect(command.timeout == 2.5)
  }

  @Test func aDownloadSaysWhatItExpectsAndHowOftenItIsTried() throws {
    let digest = String(repeating: "0a", count: 32)
    let command = try DownloadCommand.parse([
      "http://a/", "--sha256", digest, "--size", "7", "--retries", "2", "--retry-delay", "1.5",
    ])
    #expect(command.expectationOptions.expected == ExpectedContent(sha256: digest, byteCount: 7))
    let policy = try #require(command.retryOptions.choice?.policy)
    #expect(policy.maximumAttempts == 3 && policy.pause == 1.5)
    #expect(policy.statuses == TransferRetryPolicy.passingStatuses)
    let upload = try UploadCommand.parse(["f", "http://a/", "--retries", "2", "--retry-delay", "1.5"])
    #expect(upload.retryOptions.choice?.policy == policy)
    #expect(try UploadCommand.parse(["f", "http://a/"]).retryOptions.choice == nil)
    let plain = try DownloadCommand.parse(["http://a/"])
    #expect(plain.expectationOptions.expected == nil && plain.retryOptions.choice == nil)
    #expect(try DownloadCommand.parse(["http://a/", "--size", "7"]).expectationOptions.expected?.byteCount == 7)
    #expect(try DownloadCommand.parse(["http://a/", "--retry-delay", "9"]).retryOptions.choice?.policy.statuses == [])
  }

  @Test(arguments: ["deadbeef", String(repeating: "0g", count: 32), String(repeating: "a", count: 65)])
  func aDigestOfAnotherFormIsToldHowManyDigitsItNeeds(_ text: String) throws {
    let error = #expect(throws: (any Error).self) {
      try URLSessionCommand.parseAsRoot(["download", "http://a/", "--sha256", text])
    }
    let message = URLSessionCommand.message(for: try #require(error))
    #expect(message.contains("64 hexadecimal digits"), "\(message)")
  }

  @Test func aDownloadSaysWhenAndHowFastItRuns() throws {
    let command = try DownloadCommand.parse([
      "http://a/", "http://b/", "--limit", "1.5M", "--not-before", "2h", "--discretionary", "--no-cellular",
      "--no-expensive", "--no-constrained", "--yield",
    ])
    #expect(command.urls.map(\.url.host) == ["a", "b"])
    let options = command.conditionOptions
    #expect(options.limit == 1_500_000 && options.notBefore == .after(7_200) && options.discretionary)
    var request = URLRequest(url: command.urls[0].url)
    options.apply(to: &request)
    #expect(
      !request.allowsCellularAccess && !request.allowsExpensiveNetworkAccess && !request.allowsConstrainedNetworkAccess)
    #expect(request.networkServiceType == .background)
    let task = URLSession.shared.downloadTask(with: request)
    let now = Date(timeIntervalSince1970: 0)
    options.apply(to: task, now: now)
    #expect(task.transferBandwidthLimit == 1_500_000 && task.earliestBeginDate == now + 7_200)
    task.cancel()

    let plain = try DownloadCommand.parse(["http://a/"]).conditionOptions
    var usual = URLRequest(url: command.urls[0].url)
    plain.apply(to: &usual)
    #expect(usual.allowsCellularAccess && usual.allowsExpensiveNetworkAccess && usual.allowsConstrainedNetworkAccess)
    #expect(plain.limit == nil && plain.notBefore == nil && !plain.discretionary)
    #expect(usual.networkServiceType == .default)
  }

  @Test func anUploadSaysTheSame() throws {
    let arguments = [
      "f", "http://a/", "--limit", "1.5M", "--not-before", "2h", "--discretionary", "--no-cellular", "--expensive",
    ]
    let options = try UploadCommand.parse(arguments).conditionOptions
    #expect(options.limit == 1_500_000 && options.notBefore == .after(7_200) && options.discretionary)
    #expect(options.cellular == false && options.expensive == true && options.constrained == nil)
    let plain = try UploadCommand.parse(["f", "http://a/", "--foreground", "--no-cellular"])
    #expect(plain.conditionOptions.cellular == false)
  }

  /// Each process that comes back to the session makes it the same.
  @Test(arguments: [true, false]) func theIdentifierTellsWhetherADownloadCanWait(_ canWait: Bool) {
    let identifier = BackgroundDownload.newIdentifier(isDiscretionary: canWait)
    #expect(identifier.hasPrefix(BackgroundDownload.sessionPrefix))
    let configuration = BackgroundDownload.configuration(identifier)
    #expect(configuration.isDiscretionary == canWait && configuration.identifier == identifier)
  }

  @Test func dataMeansPOST() throws {
    #expect(try GetCommand.parse(["http://example.com/", "-d", "x"]).request().httpMethod == "POST")
    #expect(try GetCommand.parse(["http://example.com/"]).request().httpMethod == "GET")
  }

  /// As curl does. A file and standard input are parts of the form, too.
  @Test func severalDataAreFieldsOfOneForm() throws {
    let arguments = ["http://example.com/", "-d", "a=1", "-d", "b=2", "-d", ""]
    let request = try GetCommand.parse(arguments).request()
    #expect(request.httpMethod == "POST" && request.httpBody == Data("a=1&b=2&".utf8))
    #expect(request.value(forHTTPHeaderField: "Content-Type") == BodyArgument.formType)
    let type = "content-type: application/x-www-form-urlencoded; charset=utf-8"
    #expect(try GetCommand.parse(arguments + ["-H", type]).request().httpBody == Data("a=1&b=2&".utf8))
    let folder = TemporaryFolder()
    let file = folder.path + "/body"
    try Data("c=3".utf8).write(to: URL(fileURLWithPath: file))
    let joined = try BodyArgument.load([.text("a=1"), .file(file)])
    #expect(joined == Data("a=1&c=3".utf8))
    #expect(try BodyArgument.load([]) == nil)
  }

  @Test(arguments: [
    ["http://a/", "-H", "Content-Type: application/json", "-d", "{}", "-d", "[]"],
    ["ftp://a/x", "-d", "a", "-d", "b"], ["http://a/", "-d", "@-", "-d", "@-"],
  ]) func severalDataThatAreNoFormAreRefused(_ arguments: [String]) throws {
    let error = #expect(throws: (any Error).self) { try URLSessionCommand.parseAsRoot(["get"] + arguments) }
    #expect(URLSessionCommand.exitCode(for: try #require(error)).rawValue == CommandStatus.usage.rawValue)
    #expect(URLSessionCommand.message(for: try #require(error)).contains("-d"))
  }

  @Test(arguments: [nil, true, false] as [Bool?]) func anEndIsShownAsTheCommandSays(_ notify: Bool?) throws {
    let option = notify.map { [$0 ? "--notify" : "--no-notify"] } ?? []
    let download = try DownloadCommand.parse(["http://a/"] + option).notificationOptions
    let upload = try UploadCommand.parse(["f", "http://a/"] + option).notificationOptions
    for options in [download, upload] {
      #expect(options.notify == notify)
      #expect(options.showsEnd(whileWaiting: false))
      #expect(options.showsEnd(whileWaiting: true) == (notify == true), "the terminal shows it")
    }
  }

  @Test(arguments: [
    ["get"], ["get", "nonsense"], ["get", "http://a/", "--json"], ["get", "http://a/", "--json", "-o", "-"],
    ["get", "http://a/", "--json", "-o", "f", "-i"], ["get", "http://a/", "--timeout", "0"],
    ["get", "http://a/", "--max-time", "-1"], ["get", "http://a/", "-X", "A B"], ["get", "http://a/", "-H", "x"],
    ["download", "file:///x"], ["download", "http://a/", "-o", "-"], ["download", "http://a/", "--priority", "urgent"],
    ["download", "http://a/", "--sha256", "abc"], ["download", "http://a/", "--size", "-1"],
    ["download", "http://a/", "--retries", "-1"], ["download", "http://a/", "--retry-delay", "x"],
    ["download", "http://a/", "--retry-delay", "-1"], ["download"], ["download", "http://a/", "file:///x"],
    ["download", "http://a/", "http://a/b", "--size", "1"], ["download", "http://a/", "http://b/", "--user", "ann"],
    ["download", "http://a/", "https://a/", "--user", "ann"], ["download", "http://a/", "--limit", "none"],
    ["download", "http://a/", "--limit", "5"], ["download", "http://a/", "--not-before", "soon"],
    ["wait"], ["wait", "x"], ["show"], ["show", "1", "2"], ["cancel"], ["cancel", "1", "--all"],
    ["cancel", "--all", "--app", "/a"], ["pause"], ["pause", "x"], ["resume", "--app"], ["resume", "1", "--app", "/a"],
    ["cache", "show"], ["unheard-of"],
    ["upload", "f", "http://a/", "--retries", "-1"], ["upload", "f", "http://a/", "--foreground", "--retries", "1"],
    ["upload", "f", "http://a/", "--foreground", "--retry-delay", "1"],
    ["upload", "f", "http://a/", "--foreground", "--no-notify"], ["upload", "f", "http://a/", "--limit", "none"],
    ["upload", "f", "http://a/", "--foreground", "--limit", "1M"],
    ["upload", "f", "http://a/", "--foreground", "--not-before", "2h"],
    ["upload", "f", "http://a/", "--foreground", "--discretionary"],
    ["upload", "f", "http://a/", "--foreground", "--yield"],
  ]) func refusesAsUsage(_ arguments: [String]) throws {
    let error = #expect(throws: (any Error).self) { try URLSessionCommand.parseAsRoot(arguments) }
    #expect(URLSessionCommand.exitCode(for: try #require(error)).rawValue == CommandStatus.usage.rawValue)
  }

  @Test func priorities() throws {
    let commands = try ["low", "default", "high"].map { priority in
      try DownloadCommand.parse(["http://a/", "--priority", priority]).priority.value
    }
    #expect(commands == commands.sorted())
    #expect(Set(commands).count == 3)
  }
}
