import Foundation
import Testing
import TransferProtocol

@testable import urlsession

struct FollowedTransfersTests {
  private func report(_ transfer: Int64, _ state: TransferState, received: Int64, total: Int64) -> TransferReport {
    TransferReport(Sample.status(transfer, state, received: received, total: total))
  }

  private func over(_ transfer: Int64, _ outcome: DownloadRecord.Outcome = .saved, received: Int64) -> TransferReport {
    var report = report(transfer, .completed, received: received, total: 100)
    report.outcome = outcome
    return report
  }

  @Test func bytesAreSummedUntilAllAreOver() {
    var followed = FollowedTransfers([2, 1, 2])
    #expect(followed.unknown == [2, 1])
    #expect(followed.total == nil)
    let ends = [
      followed.update(report(1, .running, received: 10, total: 100)),
      followed.update(report(2, .running, received: 5, total: 50)),
    ]
    #expect(ends == [false, false])
    #expect(followed.received == 15)
    #expect(followed.total == 150)
    #expect(followed.label == "0 of 2 over")
    // An end is told once.
    let endsOfFirst = [followed.update(over(1, .httpError, received: 20)), followed.update(over(1, received: 20))]
    #expect(endsOfFirst == [true, false])
    #expect(followed.total == 70)
    #expect(followed.open == [2])
    #expect(!followed.isOver)
    let endsSecond = followed.update(over(2, received: 50))
    #expect(endsSecond)
    #expect(followed.isOver)
    #expect(followed.all.map(\.transfer) == [2, 1])
    #expect(followed.ending?.status == .httpError)
  }

  @Test func othersAreNotFollowed() {
    var followed = FollowedTransfers([1])
    let ends = followed.update(over(3, received: 1))
    #expect(!ends)
    #expect(followed.unknown == [1])
  }

  @Test func firstInOrderDecides() {
    var followed = FollowedTransfers([1, 2])
    _ = followed.update(over(2, .cancelled, received: 0))
    _ = followed.update(over(1, .savedElsewhere, received: 0))
    #expect(followed.ending?.status == .cannotWrite)
  }

  @Test func unknownSizeOfOneIsUnknownOfAll() {
    var followed = FollowedTransfers([1, 2])
    _ = followed.update(report(1, .running, received: 10, total: 100))
    _ = followed.update(report(2, .running, received: 10, total: -1))
    #expect(followed.total == nil)
  }

  @Test func noteNamesTheReasonOfWaiting() {
    var followed = FollowedTransfers([1, 2])
    var waiting = report(1, .waiting, received: 0, total: -1)
    waiting.waiting = WaitingStatus(code: "x", sentence: "No network.")
    _ = followed.update(waiting)
    #expect(followed.note(now: Sample.now) == "waits: No network")
    _ = followed.update(report(2, .running, received: 0, total: -1))
    #expect(followed.note(now: Sample.now) == nil)
    _ = followed.update(over(1, received: 0))
    _ = followed.update(report(2, .completed, received: 0, total: -1))
    #expect(followed.note(now: Sample.now) == "is complete, its file is being put in place")
    _ = followed.update(over(2, received: 0))
    #expect(followed.note(now: Sample.now) == nil)
  }

  @Test func anUploadHasNoFileToPutInPlace() {
    var followed = FollowedTransfers([1])
    var upload = report(1, .completed, received: 10, total: 10)
    upload.isUpload = true
    _ = followed.update(upload)
    #expect(followed.note(now: Sample.now) == "is complete, its end is being noted")
  }

  /// Their ends are told when they are noted.
  @Test(arguments: [
    Sample.status(1, .completed, received: 5, total: 10) {
      $0.failure = TransferFailure(domain: NSURLErrorDomain, code: NSURLErrorNetworkConnectionLost, message: "Lost.")
    },
    Sample.status(1, .completed) {
      $0.failure = TransferFailure(domain: NSURLErrorDomain, code: NSURLErrorCancelled, message: "Cancelled.")
    },
    Sample.status(1, .completed) { $0.httpStatus = 404 },
    Sample.status(1, .completed) {
      $0.kind = .upload
      $0.httpStatus = 503
    },
  ]) func aTransferThatFailedIsNotCalledComplete(_ status: TransferStatus) {
    var followed = FollowedTransfers([1])
    _ = followed.update(TransferReport(status))
    #expect(!followed.isOver && followed.note(now: Sample.now) == nil)
  }
}
