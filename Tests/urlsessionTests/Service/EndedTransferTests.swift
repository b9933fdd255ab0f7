import Foundation
import Testing
import TransferProtocol

@testable import urlsession

@Suite struct EndedTransferTests {
  private static func lost(_ change: (inout DownloadRecord) -> Void = { _ in }) throws -> EndedTransfer {
    let record = Sample.record(.queued) {
      $0.transfer = 7
      $0.url = "http://h/a?b=1&c='2'"
      $0.destination = Destination(path: "/home/me/x", isFolder: false)
      change(&$0)
    }
    let report = try #require(TransferReport(record)).lost()
    return try #require(EndedTransfer(report, record))
  }

  @Test func aRequestThatIsNotKnownIsRefusedWithTheCommand() async throws {
    let lost = try Self.lost()
    await #expect(throws: lost.refusal) { try await lost.beginAgain() }
    let failure = lost.refusal
    #expect(failure.status == .transferFailed)
    #expect(failure.what.contains("transfer 7 is lost") && failure.what.contains("other options"))
    #expect(failure.advice.hasSuffix("`urlsession download 'http://h/a?b=1&c='\\''2'\\''' -o '/home/me/x'`"))
    let upload = try Self.lost { $0.isUpload = true }
    #expect(upload.refusal.advice.contains("`urlsession upload '/home/me/x' 'http://h/"))
  }

  @Test func aEndedTransferBeginsOnce() async throws {
    let lost = try Self.lost { $0.isOfURLAlone = true }
    let record = EndedTransfer.ended(try #require(lost.record), as: 8, isLost: true)
    let report = try #require(TransferReport(record))
    let again = try #require(EndedTransfer(report, record))
    await #expect(throws: again.refusal) { try await again.beginAgain() }
    #expect(again.refusal.what.hasSuffix("it has begun again as transfer 8"))
    // One that was cancelled, and whose end this program has not taken yet.
    let cancelled = EndedTransfer.ended(try #require(lost.record), as: 8, isLost: false)
    #expect(cancelled.outcome == .queued && cancelled.begunAgainAs == 8 && cancelled.message == nil)
  }

  /// Its end is with the service, and this program has not taken it.
  @Test(arguments: [404, 200]) func aRefusedTransferWhoseEndIsNotTakenIsOver(status: Int) throws {
    let folder = TemporaryFolder()
    let store = RecordStore(state: folder.path)
    _ = try store.update("urlsession.17") { _ in Sample.record(.queued) }
    let ended = EndedTransfer(Sample.status(17, .completed) { $0.httpStatus = status }, in: store)
    #expect(ended?.report.stateWord == (status == 404 ? "HTTP 404" : nil))
  }

  @Test func aTransferThatFailedOtherwiseIsNotLost() throws {
    let report = try #require(TransferReport(Sample.record(.failed) { $0.transfer = 7 }))
    #expect(EndedTransfer(report, nil) == nil)
    let record = Sample.record(.failed) {
      $0.transfer = 7
      ($0.errorDomain, $0.errorCode) = (NSURLErrorDomain, URLError.Code.backgroundSessionWasDisconnected.rawValue)
      ($0.message, $0.finished) = ("its record is damaged", Date())
    }
    let told = try #require(TransferReport(record))
    #expect(EndedTransfer(told, record) != nil)
  }
}
