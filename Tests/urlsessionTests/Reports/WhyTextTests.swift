import Foundation
import Testing
import TransferProtocol

@testable import urlsession

@Suite struct WhyTextTests {
  static let waiting = WaitingStatus(
    code: "retry", sentence: "It failed and will be tried again: Lost.", nextAttempt: Sample.now.addingTimeInterval(75))
  static let later = WaitingStatus(
    code: "earliestBegin", sentence: "The app asked not to begin before a date.",
    nextAttempt: Sample.now.addingTimeInterval(75))
  static let onBattery = WaitingStatus(
    code: "discretionary.onBattery", sentence: "It can wait, and does so on battery.",
    nextAttempt: Sample.now.addingTimeInterval(75))
  static let locked = WaitingStatus(
    code: "keychain", sentence: "The keychain with the key is locked.", nextAttempt: Sample.now.addingTimeInterval(75))
  static let setAside = WaitingStatus(code: "setAside", sentence: "It ran at 3 crashes of the service.")
  static let absence = AppAbsence(days: 65, removal: Sample.now.addingTimeInterval(4 * 86_400))
  static let paused = WaitingStatus(code: "pausedByUser", sentence: "It is paused by the user.")

  @Test(arguments: [
    (Sample.status(1, received: 50, total: 200), "runs: 50 B of 200 B have arrived (25%)."),
    (
      Sample.status(1) {
        $0.kind = .upload
        ($0.countOfBytesSent, $0.countOfBytesExpectedToSend) = (50, 200)
      }, "runs: 50 B of 200 B have been sent (25%)."
    ),
    (
      Sample.status(1) {
        $0.kind = .upload
        $0.countOfBytesSent = 50
      }, "runs: 50 B have been sent."
    ),
    (Sample.status(1, .completed) { $0.kind = .upload }, "is complete; its app has not been told yet."),
    (
      Sample.status(1, .completed) {
        $0.failure = TransferFailure(domain: NSURLErrorDomain, code: NSURLErrorCancelled, message: "It was cancelled.")
      }, "was cancelled."
    ),
    (
      Sample.status(1, .completed) {
        $0.failure = TransferFailure(domain: NSURLErrorDomain, code: NSURLErrorTimedOut, message: "It took too long.")
      }, "failed: It took too long."
    ),
    (
      Sample.status(1, received: 50) { $0.absence = absence },
      "runs: 50 B have arrived. Its app has not been there for 65 days; it is removed on 2027-01-19."
    ),
    (Sample.status(1, received: 50) { $0.failedAttempts = 2 }, "runs: 50 B have arrived. The last 2 tries failed."),
    (
      Sample.status(1, .waiting) { $0.waiting = waiting },
      "waits. It failed and will be tried again: Lost. It is tried again in 1:15."
    ),
    (
      Sample.status(1, received: 50) {
        $0.limits = [
          TransferLimit(scope: .app, limit: .init(bytesPerSecond: 500_000)),
          TransferLimit(scope: .service, limit: .init(bytesPerSecond: 1_000_000, hours: DailyHours("08:00-18:00"))),
        ]
      }, "runs: 50 B have arrived. Limits: program 500 KB/s, all 1 MB/s between 08:00-18:00."
    ),
    (
      Sample.status(1, .waiting) { $0.waiting = later },
      "waits. The app asked not to begin before a date. It begins in 1:15."
    ),
    (
      Sample.status(1, .waiting) { $0.waiting = onBattery },
      "waits. It can wait, and does so on battery. The conditions are looked at again in 1:15."
    ),
    (
      Sample.status(1, .waiting) { $0.waiting = locked },
      "waits. The keychain with the key is locked. The keychain is read again in 1:15."
    ),
    (
      Sample.status(1, .waiting) { $0.waiting = paused },
      "is paused by the user. `urlsession resume 1` lets it go on."
    ),
    (
      Sample.status(1, .suspended) { $0.waiting = paused },
      "is paused by the user; its app has suspended it, too. `urlsession resume 1` lets it go on."
    ),
    (
      Sample.status(1, .waiting) { $0.waiting = setAside },
      "stands still. It ran at 3 crashes of the service."
    ),
    (
      Sample.status(1, .suspended) { $0.waiting = setAside },
      "stands still. It ran at 3 crashes of the service. Its app has suspended it, too."
    ),
    (Sample.status(1, .suspended), "is suspended by its app."),
    (
      Sample.status(1, .completed) { $0.failure = TransferFailure(domain: "d", code: 1, message: "Broken") },
      "failed: Broken."
    ),
    (
      Sample.status(1, .completed), "is complete; its file waits for the app, which puts it in its place."
    ),
    (Sample.status(1, .completed) { $0.httpStatus = 404 }, "is over: the server answered 404."),
    (
      Sample.status(1, .completed) {
        $0.failure = TransferFailure(domain: "d", code: 1, message: "Broken")
        $0.isAcknowledged = true
      }, "failed: Broken."
    ),
    (Sample.status(1, .completed) { $0.app = "/usr/bin/store" }, "is complete."),
  ])
  func oneSentenceSaysIt(_ status: TransferStatus, _ text: String) {
    #expect(WhyText.sentence(TransferReport(status), now: Sample.now) == "Transfer 1 " + text)
  }

  @Test func aTransferWithoutAServiceSaysHowToStartOne() throws {
    let report = try #require(TransferReport(Sample.record(.queued) { $0.transfer = 7 }))
    #expect(
      WhyText.sentence(report.withoutService())
        == "Transfer 7 waits. The transfer service does not run; `urlsession wait 7` starts it.")
    let over = try #require(TransferReport(Sample.record(.saved) { $0.transfer = 7 }))
    #expect(over.withoutService().waiting == nil)
    for still in [Self.paused, Self.setAside] {
      let report = TransferReport(Sample.status(1, .waiting) { $0.waiting = still })
      #expect(report.withoutService() == report)
    }
  }

  /// The queue and its copy are gone, and this program's record has it as queued.
  @Test(arguments: [(false, "download"), (true, "upload")])
  func aTransferThatTheServiceDoesNotHaveIsLost(isUpload: Bool, command: String) throws {
    let record = Sample.record(.queued) {
      $0.transfer = 7
      $0.isUpload = isUpload
    }
    let report = try #require(TransferReport(record)).lost()
    #expect(
      WhyText.sentence(report)
        == "Transfer 7 failed: it is lost: the transfer service does not have it any more, as where its queue and the copy "
        + "of it are gone. Start it again with `urlsession \(command)`.")
    #expect(report.state == .completed && report.outcome == .failed && report.stateWord == "failed")
    let ending = try #require(report.ending)
    #expect(ending.status == .transferFailed && ending.what.contains("transfer 7 is lost"))
    #expect(ending.advice.contains("urlsession \(command)"))
    // It ends a wait.
    var followed = FollowedTransfers([7])
    #expect(followed.update(report) && followed.isOver && followed.ending == ending)
  }

  @Test func aLostTransferThatRetryBeginsAgainSaysSo() throws {
    let record = Sample.record(.queued) {
      $0.transfer = 7
      $0.isOfURLAlone = true
    }
    let report = try #require(TransferReport(record)).lost()
    let text = WhyText.sentence(report)
    #expect(text.hasSuffix("copy of it are gone. `urlsession retry 7` begins it again."), "\(text)")
    #expect(report.ending?.advice == "start it again with `urlsession retry 7`")
  }
}
