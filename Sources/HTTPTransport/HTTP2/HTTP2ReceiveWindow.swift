import NIOCore

/// How much the server may send, on one stream or on the connection (RFC 9113 §5.2, §6.9).
///
/// The window is opened again in halves, as bytes are read out. A stream's window starts small and doubles as
/// long as its reader keeps up with the network, so that a long fat path fills, while a reader that is slow from the
/// start never has more than the first window waiting in memory. A window that is ample for short paths grows further only
/// where the path is long: where the server is waited for, and not the reader, twice as much in the window would only be
/// twice as much in memory whenever the reader pauses.
package struct HTTP2ReceiveWindow {
  /// The most that can be on its way or unread.
  package private(set) var size: Int
  private let maximum: Int
  /// From this size on the window grows only where half of it is used up within two round trips.
  private let ample: Int
  /// How many bytes the server may still send.
  package private(set) var available: Int
  /// How many bytes were read out and not announced yet.
  private var owed = 0
  /// When the window was opened last.
  private var lastOpening: NIODeadline?

  /// - Parameter ample: nil: the window grows to its maximum on any path.
  package init(size: Int, maximum: Int, ample: Int? = nil) {
    self.size = size
    self.maximum = max(size, maximum)
    self.ample = ample ?? maximum
    available = size
  }

  /// Bytes arrived. False when they are more than the server was allowed to send.
  package mutating func received(_ count: Int) -> Bool {
    available -= count
    return available >= 0
  }

  /// Bytes were read out. Returns by how much the window is to be opened now; 0 when that can wait.
  ///
  /// - Parameters:
  ///   - keepsUp: whether the reader has taken everything that arrived.
  ///   - roundTrip: the shortest time of a round trip on this path; nil where it is not known.
  package mutating func consumed(
    _ count: Int, keepsUp: Bool, at now: @autoclosure () -> NIODeadline = .now(), roundTrip: () -> TimeAmount? = { nil }
  ) -> Int {
    owed += count
    guard owed >= size / 2 else { return 0 }
    var increment = owed
    owed = 0
    if size < maximum {
      let now = now()
      if keepsUp, mayGrow(at: now, roundTrip) {
        let grown = min(size * 2, maximum)
        increment += grown - size
        size = grown
      }
      lastOpening = now
    }
    available += increment
    return increment
  }

  private func mayGrow(at now: NIODeadline, _ roundTrip: () -> TimeAmount?) -> Bool {
    guard size >= ample, let lastOpening, let roundTrip = roundTrip() else { return true }
    return now - lastOpening <= roundTrip * 2
  }
}
