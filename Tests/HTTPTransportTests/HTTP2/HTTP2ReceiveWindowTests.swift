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
}
