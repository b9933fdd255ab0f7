import SystemServices
import Testing

@testable import TransferService

@Suite struct GatheredEndsTests {
  private static func at(_ seconds: Double) -> BootInstant { BootInstant(nanoseconds: 0) + seconds }

  @Test func oneIsWrittenAtOnceWhenNoRequestWaits() {
    var ends = GatheredEnds()
    #expect(!ends.isDue(requestsWait: false, at: Self.at(0)))
    ends.add(7, at: Self.at(0))
    #expect(ends.isDue(requestsWait: false, at: Self.at(0)))
    #expect(ends.take() == [7])
    #expect(!ends.isDue(requestsWait: false, at: Self.at(0)))
  }

  @Test func theyAreGatheredWhileRequestsWait() {
    var ends = GatheredEnds()
    ends.add(7, at: Self.at(0))
    ends.add(8, at: Self.at(0.05))
    #expect(!ends.isDue(requestsWait: true, at: Self.at(0.09)))
    #expect(ends.take() == [7, 8])
  }

  @Test func theyAreGatheredWhileOthersAreWritten() {
    var ends = GatheredEnds()
    ends.add(7, at: Self.at(0))
    #expect(ends.take() == [7])
    ends.add(8, at: Self.at(0))
    #expect(!ends.isDue(requestsWait: false, at: Self.at(5)) && !ends.isEmpty)
    ends.written()
    #expect(ends.isDue(requestsWait: false, at: Self.at(5)))
    #expect(ends.take() == [8])
    ends.written()
    #expect(ends.isEmpty)
  }

  /// Nor do they end with those that are written meanwhile.
  @Test func resumePointsHoldNoOthersUp() {
    var ends = GatheredEnds()
    ends.add(7, at: Self.at(0))
    ends.hold(ends.take())
    ends.written()
    #expect(!ends.isEmpty && !ends.isDue(requestsWait: false, at: Self.at(0)))
    ends.add(8, at: Self.at(1))
    #expect(ends.isDue(requestsWait: false, at: Self.at(1)) && ends.take() == [8])
    ends.written()
    #expect(!ends.isEmpty)
    ends.release([7], at: Self.at(2))
    #expect(ends.isDue(requestsWait: false, at: Self.at(2)) && ends.take() == [7])
    ends.written()
    #expect(ends.isEmpty)
  }

  @Test func oneCommitHasALimit() {
    var ends = GatheredEnds()
    for id: TransferID in 1...1_001 { ends.add(id, at: Self.at(0)) }
    #expect(ends.take() == Array(1...1_000))
    ends.written()
    #expect(ends.isDue(requestsWait: false, at: Self.at(0)))
    #expect(ends.take() == [1_001])
  }

  @Test func requestsWithoutEndDoNotHoldThemBack() {
    var ends = GatheredEnds()
    ends.add(7, at: Self.at(1))
    #expect(ends.isDue(requestsWait: true, at: Self.at(1.2)))
    _ = ends.take()
    ends.written()
    for id: TransferID in 1...999 { ends.add(id, at: Self.at(2)) }
    #expect(!ends.isDue(requestsWait: true, at: Self.at(2)))
    ends.add(1_000, at: Self.at(2))
    #expect(ends.isDue(requestsWait: true, at: Self.at(2)))
  }
}
