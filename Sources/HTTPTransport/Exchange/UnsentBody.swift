import NIOCore

/// Holds the body of a request to what its head announced.
struct UnsentBody {
  private(set) var framing = RequestBodyFraming.none
  private var remaining: Int64 = 0

  init() {}

  init(_ framing: RequestBodyFraming) {
    self.framing = framing
    if case .length(let length) = framing { remaining = length }
  }

  /// Whether all bytes that were announced were given.
  var isComplete: Bool {
    if case .length = framing { remaining == 0 } else { false }
  }

  /// The app gives `count` bytes more.
  mutating func give(_ count: Int64) throws {
    switch framing {
    case .none: throw TransportError.invalidRequest(reason: "the request was sent without a body")
    case .length:
      guard count <= remaining else {
        throw TransportError.invalidRequest(reason: "the body is longer than its announced length")
      }
      remaining -= count
    case .chunked: break
    }
  }

  /// The app gives no more.
  func end() throws {
    guard case .length = framing, remaining > 0 else { return }
    throw TransportError.invalidRequest(reason: "the body is shorter than its announced length")
  }
}
