import Testing

@testable import HTTPTransport

/// Frames on streams that were closed from here: those on their way are let pass, no more of them.
@Suite struct HTTP2ClosedStreamsTests {
  /// What is on its way to a stream that was given up is let pass; no more of it.
  @Test func eachClosedStreamHasAllowances() {
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

  /// An app that cancels thousands of loads at once: what the server still sends on them is no flood.
  @Test func thousandsOfClosedStreamsMayEachGetAResetAndAHead() {
    var closed = HTTP2ClosedStreams()
    let streams = (0..<5_000).map { HTTP2StreamNumber(2 * $0 + 1) }
    for stream in streams { closed.closed(stream) }
    for stream in streams {
      let verdicts = [closed.arrived(.head, on: stream), closed.arrived(.data(100), on: stream)]
      let reset = closed.arrived(.reset, on: stream)
      #expect(verdicts == [.wasOnItsWay, .wasOnItsWay] && reset == .wasOnItsWay)
    }
    // A second reset of each is one too many.
    let again = streams.map { closed.arrived(.reset, on: $0) }
    #expect(again.allSatisfy { $0 == .isUnexpected })
  }
}
