import Testing

@testable import urlsession

@Suite struct GroupLeavingTests {
  @Test func sessionsThatAreLeftAtOnceWaitForNoOther() {
    var group = GroupLeaving(.atOnce, count: 3)
    let left = [1, 0].map { group.handedOver($0) }
    let late = group.patienceEnded()
    let last = group.handedOver(2)
    #expect(left == [true, true] && late.isEmpty && last)
  }

  /// Two commands would otherwise have some of the connections each, and wait for those of the other one.
  @Test func sessionsAreLeftWhenOthersOfTheirGroupWait() {
    var group = GroupLeaving(.whenOthersWait, count: 4)
    let left = [2, 0].map { group.handedOver($0) }
    let late = group.patienceEnded()
    #expect(left == [false, false] && late == [2, 0])
    // No other one waits behind the last one.
    let last = [3, 1].map { group.handedOver($0) }
    let rest = group.patienceEnded()
    #expect(last == [true, false] && rest.isEmpty)
  }

  @Test func aGroupThatTheServiceHasIsKept() {
    var group = GroupLeaving(.whenOthersWait, count: 2)
    let left = [1, 0].map { group.handedOver($0) }
    let late = group.patienceEnded()
    #expect(left == [false, false] && late.isEmpty)
  }

  /// Each session has one of 128 connections, and 64 commands may watch: those of one transfer leave places for others, and those
  /// of several give theirs back.
  @Test func onlyACommandOfOneTransferKeepsItsSessionUntilTheEnd() {
    #expect(BackgroundDownload.patience(keeping: 1) == nil)
    #expect([2, 40].allSatisfy { BackgroundDownload.patience(keeping: $0) == .seconds(30) })
  }

  @Test func aGroupThatIsWaitedForSaysWhy() {
    #expect(
      BackgroundDownload.line(waitingFor: 32, of: 40, because: "It has 128 already.")
        == "urlsession: waiting to hand over 32 of 40: It has 128 already.")
  }
}
