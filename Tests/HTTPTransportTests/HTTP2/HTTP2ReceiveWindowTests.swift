import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct HTTP2ReceiveWindowTests {
  @Test func aWindowIsAnnouncedInHalves() {
    var window = HTTP2ReceiveWindow(size: 1_000, maximum: 1_000)
    let fits = window.received(1_000)
    let exceeds = window.received(1)
    #expect(fits && !exceeds)
    let early = window.consumed(499, keepsUp: true)
    let half = window.consumed(2, keepsUp: true)
    #expect(early == 0 && half == 501)
  }

  @Test func aWindowGrowsForReadersThatKeepUp() {
    var window = HTTP2ReceiveWindow(size: 1_000, maximum: 3_000)
    _ = window.received(1_000)
    let slow = window.consumed(500, keepsUp: false)
    let first = window.consumed(500, keepsUp: true)
    #expect(slow == 500 && first == 1_500 && window.size == 2_000 && window.available == 2_000)
    _ = window.received(1_000)
    let second = window.consumed(1_000, keepsUp: true)
    #expect(second == 2_000 && window.size == 3_000 && window.available == 3_000)
    _ = window.received(1_500)
    let last = window.consumed(1_500, keepsUp: true)
    #expect(last == 1_500)
  }

  /// Milliseconds between two openings, and the size that an ample window of 2,000 bytes has then. A round trip takes 10 ms.
  @Test(arguments: [(5, 4_000), (20, 4_000), (21, 2_000), (1_000, 2_000)])
  func anAmpleWindowGrowsWhereTheServerIsWaitedFor(_ apart: Int64, _ size: Int) {
    var window = HTTP2ReceiveWindow(size: 1_000, maximum: 8_000, ample: 2_000)
    let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    let roundTrip: () -> TimeAmount? = { .milliseconds(10) }
    _ = window.received(1_000)
    _ = window.consumed(1_000, keepsUp: true, at: start, roundTrip: roundTrip)
    #expect(window.size == 2_000)
    _ = window.received(2_000)
    _ = window.consumed(2_000, keepsUp: true, at: start + .milliseconds(apart), roundTrip: roundTrip)
    #expect(window.size == size && window.available == size)
  }

  @Test func aWindowGrowsWhereNoRoundTripIsKnown() {
    var window = HTTP2ReceiveWindow(size: 2_000, maximum: 4_000, ample: 2_000)
    for _ in 0..<2 {
      _ = window.received(1_000)
      _ = window.consumed(1_000, keepsUp: true, at: .uptimeNanoseconds(0), roundTrip: { nil })
    }
    #expect(window.size == 4_000)
  }
}
