import Foundation
import Testing
import TransferProtocol

@testable import URLLoadingSystem
@testable import urlsession

struct CommandFailureTests {
  @Test func lineNamesTheFailureAndTheRemedy() {
    let failure = CommandFailure(.transferFailed, "It broke.", advice: "mend it")
    #expect(failure.line == "urlsession: It broke: mend it")
  }

  /// Nothing that was handed over may be called not queued.
  @Test func aTransferThatTheServiceMayHaveIsNamedAsPerhapsQueued() {
    let cause = CommandFailure.service(Refusal(.storage, "No."))
    let (no, perhaps) = (HandOverFailure.notQueued(cause), HandOverFailure.perhapsQueued(cause))
    #expect(no.line(of: "u").hasPrefix("Not queued: u: ") && perhaps.line(of: "u").hasPrefix("Perhaps queued: u: "))
    #expect(no.failure == cause && perhaps.cause == cause)
    #expect(perhaps.failure.line.contains("not known whether") && perhaps.failure.status == .serviceUnavailable)
    #expect(perhaps.failure.advice.contains("urlsession list"))
  }

  @Test(arguments: [
    (URLError.Code.cannotConnectToHost, CommandStatus.transferFailed), (.cannotFindHost, .transferFailed),
    (.timedOut, .timedOut), (.cancelled, .cancelled), (.cannotWriteToFile, .cannotWrite),
    (.cannotDecodeContentData, .unexpectedContent), (.unsupportedURL, .usage),
    (.serverCertificateUntrusted, .transferFailed), (.unknown, .transferFailed),
  ]) func errorsMapToExitCodes(_ code: URLError.Code, _ status: CommandStatus) {
    let failure = CommandFailure.loading(URLError(code))
    #expect(failure.status == status)
    #expect(!failure.advice.isEmpty)
  }

  @Test(arguments: [
    ("http+unix:///info", "%2Frun%2F"), ("data:text", "check the URL"), ("gopher://a/", "a URL that begins with"),
  ]) func aBadURLIsExplainedByItsScheme(_ text: String, _ advice: String) throws {
    let url = try #require(URL(string: text))
    let failure = CommandFailure.loading(URLError(.badURL, userInfo: [NSURLErrorFailingURLErrorKey: url]))
    #expect(failure.status == .usage && failure.advice.contains(advice))
  }

  /// The command line has options for the limits, not properties.
  @Test(arguments: [
    ("\(ErrorMapping.idleLimitPassed) for 2.5 seconds", "--timeout"), (ErrorMapping.wholeLimitPassed, "--max-time"),
  ]) func timeLimitsAreNamedByTheirOptions(_ fact: String, _ option: String) {
    let error = ErrorMapping.make(.timedOut, because: "\(fact). Set a longer timeoutInterval of the request.")
    let failure = CommandFailure.loading(error)
    #expect(failure.status == .timedOut && failure.line.hasPrefix("urlsession: \(fact): "), "\(failure.line)")
    #expect(failure.advice.contains(option) && !failure.line.contains("timeoutInterval"))
    #expect(CommandFailure.withoutNames("a. timeoutInterval") == "a. timeoutInterval")
  }

  /// `upload --foreground` has none.
  @Test(arguments: ["\(ErrorMapping.idleLimitPassed) for 60 seconds", ErrorMapping.wholeLimitPassed, "It was too slow"])
  func anUploadIsNotAdvisedToUseOptionsThatItLacks(_ fact: String) {
    let error = ErrorMapping.make(.timedOut, because: "\(fact). Set a longer timeoutInterval of the request.")
    let failure = UploadCommand.ofForeground(.loading(error))
    #expect(failure.status == .timedOut && failure.what == CommandFailure.loading(error).what)
    #expect(!failure.advice.contains("--timeout") && !failure.advice.contains("--max-time"), "\(failure.advice)")
    let other = CommandFailure(.cancelled, "It was cancelled", advice: "start it again")
    #expect(UploadCommand.ofForeground(other) == other)
    let login = UploadCommand.ofForeground(.http(status: 401, url: "http://a/")).advice
    #expect(login.contains("--user") && !login.contains("--netrc"), "\(login)")
  }

  private static func unconnected(_ url: String) throws -> URLError {
    URLError(.cannotConnectToHost, userInfo: [NSURLErrorFailingURLErrorKey: try #require(URL(string: url))])
  }

  @Test func aSocketThatTakesNoConnectionIsExplained() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/s"
    func advice() throws -> String {
      let failure = CommandFailure.loading(try Self.unconnected("http://engine/"), socket: path)
      let named = "http+unix://\(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")/"
      #expect(failure == CommandFailure.loading(try Self.unconnected(named)))
      return failure.advice
    }
    #expect(try advice().contains("no such file"))
    try Data().write(to: URL(fileURLWithPath: path))
    #expect(try advice().contains("not a socket"))
    try FileManager.default.removeItem(atPath: path)
    try Self.leaveSocket(at: path)
    #expect(try advice().contains("start the server"))
    #expect(CommandFailure.loading(try Self.unconnected("http://a/")).advice.contains("the port"))
  }

  /// The file of a socket on which no server listens any more.
  private static func leaveSocket(at path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(result == 0)
  }

  @Test func errorOfAnotherDomain() {
    let error = NSError(domain: "elsewhere", code: -1001, userInfo: [NSLocalizedDescriptionKey: "odd"])
    #expect(CommandFailure.loading(error).status == .transferFailed)
    #expect(CommandFailure.loading(error).what == "odd")
  }

  @Test(arguments: [400, 401, 404, 429, 500, 503, 599]) func httpStatus(_ status: Int) {
    let failure = CommandFailure.http(status: status, url: "http://a/")
    #expect(failure.status == .httpError)
    #expect(failure.what.contains("\(status) \(HTTPURLResponse.localizedString(forStatusCode: status))"))
  }

  /// Which of two passwords is wrong.
  @Test func aRefusedPasswordIsToldFromAProxys() {
    #expect(CommandFailure.http(status: 401, url: "http://a/").advice.contains("--user"))
    #expect(CommandFailure.http(status: 407, url: "http://a/").advice.contains("proxy"))
  }

  @Test func serviceFailuresMapToExitCodes() {
    #expect(CommandFailure.service(Refusal(.storage, "no room")).status == .serviceUnavailable)
    let known = CommandFailure.unknown(transfers: [3, 4])
    #expect(CommandFailure.service(known) == known)
    #expect(known.what.contains("3, 4"))
  }

  @Test func aProgramWithTooManyConnectionsIsNotToMakeRoomOnTheDisk() {
    let failure = CommandFailure.service(Refusal.tooManyConnections("/a has 2 connections already."))
    #expect(failure.what.contains("/a has 2 connections already.") && !failure.advice.contains("make room"))
    #expect(CommandFailure.service(Refusal(.storage, "no room")).advice.contains("make room"))
  }

  @Test func onlyAMissingProgramIsToBeInstalled() {
    let missing = ServiceUnavailable(reason: "it is not installed", isNotInstalled: true)
    #expect(CommandFailure.service(missing).advice.contains("URLSESSIOND_PATH"))
    for error in [
      ServiceUnavailable(reason: "it hangs", isSilent: true), ServiceUnavailable(reason: "reset", isBroken: true),
      ServiceUnavailable(reason: "the connection to it ended", hasListened: true),
    ] {
      #expect(ServiceUnavailable.isPassing(error))
      #expect(CommandFailure.service(error).advice.contains("try again in a moment"))
    }
    let other = ServiceUnavailable(reason: "/run is open to other users (mode 777)")
    #expect(!ServiceUnavailable.isPassing(other) && !ServiceUnavailable.isPassing(missing))
    #expect(CommandFailure.service(other).advice.contains("urlsession doctor"))
  }

  @Test func escapesDoNotReachTheTerminal() {
    let failure = CommandFailure.http(status: 404, url: "http://a/\u{1B}[2J")
    #expect(!failure.line.contains("\u{1B}"))
    #expect(
      !CommandFailure(.usage, "x", advice: "chmod 600 \u{1B}[2J\n").line.contains { $0.isNewline || $0 == "\u{1B}" })
  }
}
