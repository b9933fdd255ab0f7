import SystemServices
import Testing

@testable import TransferService

@Suite struct CancelledEndsTests {
  private static func at(_ seconds: Double) -> BootInstant { BootInstant(nanoseconds: 0) + seconds }

  @Test func oneIsWrittenAtOnceWhenNoRequestWaits() {
    var ends = CancelledEnds()
    #expect(!ends.isDue(requestsWait: false, at: Self.at(0)))
    ends.add(7, at: Self.at(0))
    #expect(ends.isDue(requestsWait: false, at: Self.at(0)))
    #expect(ends.take() == [7])
    #expect(!ends.isDue(requestsWait: false, at: Self.at(0)))
  }

  @Test func theyAreGatheredWhileRequestsWait() {
    var ends = CancelledEnds()
    ends.add(7, at: Self.at(0))
    #expect(ends.takeNew() == [7])
    ends.add(8, at: Self.at(0.05))
    #expect(!ends.isDue(requestsWait: true, at: Self.at(0.09)))
    #expect(ends.takeNew() == [8])
    #expect(ends.takeNew() == [])
    #expect(ends.take() == [7, 8])
  }

  @Test func requestsWithoutEndDoNotHoldThemBack() {
    var ends = CancelledEnds()
    ends.add(7, at: Self.at(1))
    #expect(ends.isDue(requestsWait: true, at: Self.at(1.2)))
    _ = ends.take()
    for id: TransferID in 1...999 { ends.add(id, at: Self.at(2)) }
    #expect(!ends.isDue(requestsWait: true, at: Self.at(2)))
    ends.add(1_000, at: Self.at(2))
    #expect(ends.isDue(requestsWait: true, at: Self.at(2)))
  }
}
