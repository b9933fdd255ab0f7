import Testing

@testable import urlsession

@Suite struct GroupLeavingTests {
  @Test func sessionsThatAreLeftAtOnceWaitForNoOther() {
    var group = GroupLeaving(.atOnce, count: 3)
    #expect(group.handedOver(1) && group.handedOver(0))
    #expect(group.patienceEnded().isEmpty)
    #expect(group.handedOver(2))
  }

  /// Two commands would otherwise have some of the connections each, and wait for those of the other one.
  @Test func sessionsAreLeftWhenOthersOfTheirGroupWait() {
    var group = GroupLeaving(.whenOthersWait, count: 4)
    #expect(!group.handedOver(2) && !group.handedOver(0))
    #expect(group.patienceEnded() == [2, 0])
    #expect(group.handedOver(3))
    #expect(!group.handedOver(1), "no other one waits")
    #expect(group.patienceEnded().isEmpty)
  }

  @Test func aGroupThatTheServiceHasIsKept() {
    var group = GroupLeaving(.whenOthersWait, count: 2)
    #expect(!group.handedOver(1) && !group.handedOver(0))
    #expect(group.patienceEnded().isEmpty)
  }
}
