import Foundation
import Testing
import TransferService

@Suite struct WaitingReasonTests {
  @Test(arguments: [
    WaitingReason.suspended, .earliestBegin(Date()), .delayedRequest, .retry(because: "It broke.", failures: 1),
    .retry(because: "It broke.", failures: 3), .noSpace(needed: 5, available: 1), .noSpace(needed: 0, available: 0),
    .hostBusy(host: "a", limit: 6), .sessionBusy(limit: 1), .serviceBusy(limit: 24), .turn, .storage,
    .storageUnavailable(because: "It is gone."), .serverBusy(status: 503), .needsCredential(because: "It waits."),
    .slow(limit: 4), .gaveWay, .trial, .held, .setAside(crashes: 3),
    .quota(used: 5, limit: 4), .quota(used: 1, promised: 3, limit: 4),
    .conditionsUnknown, .poorThroughput, .keychain(because: "The keychain is being read."), .requestChange,
  ])
  func everyReasonHasASentence(reason: WaitingReason) {
    #expect(reason.sentence.hasSuffix("."))
    #expect(!reason.code.contains(" "))
    #expect(reason.status().sentence == reason.sentence)
  }

  @Test func aFirstAnswerOfABusyServerKeepsNothing() {
    let first = WaitingReason.serverBusy(status: 503)
    let later = WaitingReason.serverBusy(status: 503, keepsBytes: true)
    #expect(!first.sentence.contains("kept") && later.sentence.contains("kept"))
    everyReasonHasASentence(reason: later)
    #expect(first.code == later.code)
  }

  /// Nothing was asked of a server.
  @Test(arguments: [
    WaitingReason.keychain(because: "The keychain is being read."), .requestChange,
    .storageUnavailable(because: "The queue can't be read."),
  ])
  func whatCanNotBeginHasNotFailed(reason: WaitingReason) {
    #expect(reason.code != "retry" && !reason.sentence.contains("failed"))
  }

  @Test(arguments: DiscretionaryRule.Bar.allCases) func everyConditionHasASentence(_ bar: DiscretionaryRule.Bar) {
    everyReasonHasASentence(reason: .discretionary(bar))
  }
}
