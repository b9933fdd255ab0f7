import Foundation
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import urlsession

struct CommandFailureTests {
  @Test func lineNamesTheFailureAndTheRemedy() {
    let failure = CommandFailure(.transferFailed, "It broke.", advice: "mend it")
    #expect(failure.line == "urlsession: It broke: mend it")
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

  @Test func escapesDoNotReachTheTerminal() {
    let failure = CommandFailure.http(status: 404, url: "http://a/\u{1B}[2J")
    #expect(!failure.line.contains("\u{1B}"))
  }
}
