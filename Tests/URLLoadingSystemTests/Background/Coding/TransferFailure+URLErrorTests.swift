import Foundation
import Testing
import TransferProtocol

@testable import URLLoadingSystem

@Suite struct TransferFailureCodingTests {
  @Test func anErrorArrivesWithWhatItSays() throws {
    let url = try #require(URL(string: "http://example.com/"))
    let error = URLError(
      .backgroundSessionWasDisconnected,
      userInfo: [
        NSLocalizedDescriptionKey: "A sentence.", NSURLErrorFailingURLErrorKey: url,
        NSURLErrorBackgroundTaskCancelledReasonKey: 2,
        NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: Int(ENOSPC)),
      ])
    let encoded = try MessageFraming.encode(TransferFailure(error))
    let decoded = try MessageFraming.decode(TransferFailure.self, from: encoded).urlError
    #expect(decoded.code == error.code && decoded.localizedDescription == "A sentence.")
    #expect(decoded.failingURL == url && decoded.backgroundTaskCancelledReason?.rawValue == 2)
    let underlying = decoded.userInfo[NSUnderlyingErrorKey] as? NSError
    #expect(underlying?.domain == NSPOSIXErrorDomain && underlying?.code == Int(ENOSPC))
  }

  @Test func theURLOfTheTaskStandsInForThatOfTheError() {
    #expect(TransferFailure(URLError(.timedOut), url: "http://a/").url == "http://a/")
    #expect(TransferFailure(URLError(.timedOut)).message.contains("-1001"))
  }

  @Test func aCodeOfAnotherDomainIsUnknown() {
    #expect(TransferFailure(domain: "other", code: -1_001, message: "m").urlError.code == .unknown)
  }
}
