import DequeModule

/// The streams that were closed from here before the server was through with them, and what may still come on them
/// because it was on its way (RFC 9113 §5.1). More than that is no honest mistake of the server.
package struct HTTP2ClosedStreams {
  package enum Frame {
    /// So many bytes of body, padding included.
    case data(Int)
    /// An interim response, a head or trailers.
    case head
    case reset
  }

  package enum Verdict: Equatable {
    case wasOnItsWay
    /// More body than any window allowed.
    case isTooMuch
    /// Nothing was to come on this stream.
    case isUnexpected
  }

  /// The frames that may still come on one stream, or on many.
  private struct Rest {
    var bytes = HTTP2ClosedStreams.bytes
    var heads = HTTP2ClosedStreams.heads
    var resets = 1

    mutating func take(_ frame: Frame) -> Verdict {
      switch frame {
      case .data(let count):
        bytes -= count
        return bytes >= 0 ? .wasOnItsWay : .isTooMuch
      case .head:
        heads -= 1
        return heads >= 0 ? .wasOnItsWay : .isUnexpected
      case .reset:
        resets -= 1
        return resets >= 0 ? .wasOnItsWay : .isUnexpected
      }
    }
  }

  /// Twice what a stream's window can grow to.
  package static let bytes = 16 << 20
  package static let heads = 4
  /// So many streams are remembered one by one.
  package static let capacity = 1_000

  private var rests: [HTTP2StreamNumber: Rest] = [:]
  private var order = Deque<HTTP2StreamNumber>()
  /// The same for all streams that are no longer remembered one by one, with the highest number of them: an app may cancel
  /// thousands at once.
  private var others: (rest: Rest, highest: HTTP2StreamNumber)?

  package init() {}

  /// The stream was closed from here; the server does not know yet.
  package mutating func closed(_ stream: HTTP2StreamNumber) {
    guard rests.updateValue(Rest(), forKey: stream) == nil else { return }
    order.append(stream)
    guard order.count > HTTP2ClosedStreams.capacity, let oldest = order.popFirst(),
      let rest = rests.removeValue(forKey: oldest)
    else { return }
    var sum = others ?? (Rest(bytes: 0, heads: 0, resets: 0), 0)
    sum.rest.bytes += max(0, rest.bytes)
    sum.rest.heads += max(0, rest.heads)
    sum.rest.resets += max(0, rest.resets)
    sum.highest = max(sum.highest, oldest)
    others = sum
  }

  /// A frame came on a stream that is not open.
  package mutating func arrived(_ frame: Frame, on stream: HTTP2StreamNumber) -> Verdict {
    if var rest = rests[stream] {
      defer { rests[stream] = rest }
      return rest.take(frame)
    }
    guard let others, stream <= others.highest else { return .isUnexpected }
    let verdict = self.others?.rest.take(frame) ?? .isUnexpected
    // Which of the streams sent too much is not known.
    return verdict == .wasOnItsWay ? .wasOnItsWay : .isUnexpected
  }
}
