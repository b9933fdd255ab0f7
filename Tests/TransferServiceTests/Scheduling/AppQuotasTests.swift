import SystemServices
import Testing

@testable import TransferService

@Suite struct AppQuotasTests {
  private static let start = BootInstant(nanoseconds: 1_000_000_000)

  @Test func descriptionsThatWereAddedAfterACountAreAddedToIt() {
    var usage = AppUsage()
    #expect(usage.queueBytes(at: Self.start) == nil)
    let first = usage.addQueueBytes(100)
    _ = usage.addQueueBytes(20)
    usage.counted(queueBytes: 1_100, withAdded: first, at: Self.start)
    #expect(usage.queueBytes(at: Self.start) == 1_120)
    _ = usage.addQueueBytes(3)
    #expect(usage.queueBytes(at: Self.start + 29) == 1_123)
    #expect(usage.queueBytes(at: Self.start + 31) == nil)
  }
}
