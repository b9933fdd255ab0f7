import DequeModule

/// The streams that were closed from here before the server was through with them, and what may still come on them
/// because it was on its way (RFC 9113 §5.1). What the server sends when it must know better is no honest mistake.
package struct HTTP2ClosedStreams {
  package enum Arrival {
    /// So many bytes of body, padding included.
    case data(Int)
    /// An interim response, a head or trailers.
    case head
  }

  package enum Verdict: Equatable {
    case wasOnItsWay
    /// More body than any window allowed.
    case isTooMuch
    /// Nothing was to come on this stream, or it was closed so long ago that nobody remembers.
    case isUnexpected
  }

  private struct Rest {
    var bytes = HTTP2ClosedStreams.bytes
    var heads = HTTP2ClosedStreams.heads
  }

  /// Twice what a stream's window can grow to.
  package static let bytes = 16 << 20
  package static let heads = 4
  /// So many streams are remembered.
  package static let capacity = 1_000

  private var rests: [HTTP2StreamNumber: Rest] = [:]
  private var order = Deque<HTTP2StreamNumber>()

  package init() {}

  /// The stream was given up; the server does not know yet.
  package mutating func closed(_ stream: HTTP2StreamNumber) {
    guard rests.updateValue(Rest(), forKey: stream) == nil else { return }
    order.append(stream)
    if order.count > HTTP2ClosedStreams.capacity, let oldest = order.popFirst() { rests[oldest] = nil }
  }

  /// Something came on a stream that is not open.
  package mutating func arrived(_ arrival: Arrival, on stream: HTTP2StreamNumber) -> Verdict {
    guard var rest = rests[stream] else { return .isUnexpected }
    defer { rests[stream] = rest }
    switch arrival {
    case .data(let count):
      rest.bytes -= count
      return rest.bytes >= 0 ? .wasOnItsWay : .isTooMuch
    case .head:
      rest.heads -= 1
      return rest.heads >= 0 ? .wasOnItsWay : .isUnexpected
    }
  }
}
