import NIOCore
import Testing

@testable import HTTPTransport

/// Windows, floods, liveness and settings: rules without a connection.
@Suite struct HTTP2RuleTests {
  @Test func aWindowIsAnnouncedInHalves() {
    var window = HTTP2ReceiveWindow(size: 1_000, maximum: 1_000)
    let fits = window.received(1_000)
    let exceeds = window.received(1)
    #expect(fits && !exceeds)
    let early = window.consumed(499, keepsUp: true)
    let half = window.consumed(2, keepsUp: true)
    #expect(early == 0 && half == 501)
  }

  @Test func itGrowsForReadersThatKeepUp() {
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

  @Test(arguments: HTTP2FloodGuard.Kind.allCases)
  func floodsEndTheConnection(_ kind: HTTP2FloodGuard.Kind) {
    var guarding = HTTP2FloodGuard()
    let error = #expect(throws: HTTP2ConnectionError.self) {
      for _ in 0..<30_000 { try guarding.count(kind, at: .uptimeNanoseconds(0)) }
    }
    #expect(error?.code == .enhanceYourCalm)
  }

  @Test func anHonestServerIsNoFlood() throws {
    var guarding = HTTP2FloodGuard()
    // A PING a second and SETTINGS now and then, for a day.
    for second in 0..<86_400 { try guarding.count(.ping, at: .uptimeNanoseconds(UInt64(second) * 1_000_000_000)) }
  }

  /// What is on its way to a stream that was given up is let pass; no more of it.
  @Test func closedStreamsAreRememberedForAWhile() {
    var closed = HTTP2ClosedStreams()
    closed.closed(1)
    let heads = (0...HTTP2ClosedStreams.heads).map { _ in closed.arrived(.head, on: 1) }
    #expect(heads == Array(repeating: .wasOnItsWay, count: HTTP2ClosedStreams.heads) + [.isUnexpected])
    let window = closed.arrived(.data(HTTP2ClosedStreams.bytes), on: 1)
    let more = closed.arrived(.data(1), on: 1)
    let stranger = closed.arrived(.data(1), on: 3)
    #expect(window == .wasOnItsWay && more == .isTooMuch && stranger == .isUnexpected)
    for stream in 0..<HTTP2ClosedStreams.capacity { closed.closed(HTTP2StreamNumber(2 * stream + 3)) }
    let forgotten = closed.arrived(.data(1), on: 1)
    let oldest = closed.arrived(.data(1), on: 3)
    #expect(forgotten == .isUnexpected && oldest == .wasOnItsWay)
  }

  @Test func theSmallestTableOfAFrameIsRemembered() throws {
    var settings = HTTP2PeerSettings()
    let size = HTTP2Setting.headerTableSize
    try settings.apply([HTTP2Setting(size, 100), HTTP2Setting(size, 50), HTTP2Setting(size, 8_000)])
    #expect(settings.smallestHeaderTableBytes == 50 && settings.headerTableBytes == 8_000)
    try settings.apply([HTTP2Setting(size, 9_000)])
    #expect(settings.smallestHeaderTableBytes == 8_000 && settings.headerTableBytes == 9_000)
  }

  /// RFC 8441 §3: the offer is made with 1, and not taken back.
  @Test func anOfferIsNotTakenBack() throws {
    var settings = HTTP2PeerSettings()
    #expect(!settings.isKnown)
    try settings.apply([HTTP2Setting(HTTP2Setting.enableConnectProtocol, 0)])
    #expect(settings.isKnown && !settings.enablesConnectProtocol)
    try settings.apply([HTTP2Setting(HTTP2Setting.enableConnectProtocol, 1)])
    try settings.apply([])
    #expect(settings.enablesConnectProtocol)
    for value: UInt32 in [0, 2] {
      let error = #expect(throws: HTTP2ConnectionError.self) {
        try settings.apply([HTTP2Setting(HTTP2Setting.enableConnectProtocol, value)])
      }
      #expect(error?.code == .protocolError)
    }
  }

  /// RFC 9113 §9.2.2, Appendix A.
  @Test(
    arguments: [
      (0x0304, 0x1301, true), (0x0303, 0xc02f, true), (0x0303, 0xcca9, true), (0x0303, 0xc013, false),
      (0x0303, 0x009c, false), (0x0303, 0x0035, false), (0x0302, 0xc02f, false),
    ] as [(UInt16, UInt16, Bool)])
  func suitesThatCarryHTTP2(_ version: UInt16, _ suite: UInt16, _ isAdequate: Bool) {
    #expect(HTTP2Security.isAdequate(tlsVersion: version, suite: suite) == isAdequate)
    #expect(HTTP2Security.isAdequate(tlsVersion: version, suite: nil))
  }

  @Test func silenceIsAskedAboutAndGivenUp() {
    let start = NIODeadline.uptimeNanoseconds(0)
    var liveness = HTTP2Liveness(interval: .seconds(15), patience: .seconds(10), at: start)
    var actions = [liveness.check(at: start + .seconds(14)), liveness.check(at: start + .seconds(15))]
    actions += [liveness.check(at: start + .seconds(24)), liveness.check(at: start + .seconds(25))]
    #expect(actions == [.wait(until: start + .seconds(15)), .ping, .wait(until: start + .seconds(25)), .giveUp])
  }

  /// A server that answers is asked less and less; a sign of life starts anew.
  @Test func questionsBecomeRarer() {
    var now = NIODeadline.uptimeNanoseconds(0)
    var liveness = HTTP2Liveness(interval: .seconds(15), patience: .seconds(10), at: now)
    var waits: [Int64] = []
    for _ in 0..<5 {
      waits.append((liveness.nextCheck - now).nanoseconds / 1_000_000_000)
      now = liveness.nextCheck
      #expect(liveness.check(at: now) == .ping)
      liveness.acknowledged(at: now)
    }
    #expect(waits == [15, 60, 240, 300, 300])
    liveness.heard(at: now)
    #expect(liveness.nextCheck == now + .seconds(15))
  }

  @Test func settingsAreTakenOver() throws {
    var settings = HTTP2PeerSettings()
    #expect(settings.maximumConcurrentStreams == nil)
    try settings.apply([])
    #expect(settings.maximumConcurrentStreams == Int(Int32.max))
    try settings.apply([
      HTTP2Setting(3, 7), HTTP2Setting(4, 1 << 20), HTTP2Setting(5, 1 << 15), HTTP2Setting(1, 0), HTTP2Setting(8, 1),
      HTTP2Setting(0xfff0, 9),
    ])
    #expect(settings.maximumConcurrentStreams == 7 && settings.initialWindow == 1 << 20)
    #expect(settings.frameBytes == 1 << 15 && settings.headerTableBytes == 0 && settings.enablesConnectProtocol)
  }

  @Test(arguments: [
    HTTP2Setting(2, 1), HTTP2Setting(4, 0x8000_0000), HTTP2Setting(5, 16_383), HTTP2Setting(5, 0x100_0000),
    HTTP2Setting(8, 2),
  ])
  func impossibleSettingsAreErrors(_ setting: HTTP2Setting) {
    var settings = HTTP2PeerSettings()
    #expect(throws: HTTP2ConnectionError.self) { try settings.apply([setting]) }
  }
}
