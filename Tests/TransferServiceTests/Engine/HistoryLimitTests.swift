import Testing

@testable import TransferService

@Suite struct HistoryLimitTests {
  @Test func isReachedOnceForEveryInterval() {
    var limit = HistoryLimit(interval: 5)
    #expect([2, 2, 1, 4, 1, 0].map { limit.isReached(adding: $0) } == [false, false, true, false, true, false])
  }
}
