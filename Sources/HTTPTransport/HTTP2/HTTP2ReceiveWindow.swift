/// How much the server may send, on one stream or on the connection (RFC 9113 §5.2, §6.9).
///
/// The window is opened again in halves, as bytes are read out. A stream's window starts small and doubles as
/// long as its reader keeps up with the network, so that a long fat path fills, while a reader that is slow from the
/// start never has more than the first window waiting in memory.
package struct HTTP2ReceiveWindow {
  /// The most that can be on its way or unread.
  package private(set) var size: Int
  private let maximum: Int
  /// How many bytes the server may still send.
  package private(set) var available: Int
  /// How many bytes were read out and not announced yet.
  private var owed = 0

  package init(size: Int, maximum: Int) {
    self.size = size
    self.maximum = max(size, maximum)
    available = size
  }

  /// Bytes arrived. False when they are more than the server was allowed to send.
  package mutating func received(_ count: Int) -> Bool {
    available -= count
    return available >= 0
  }

  /// Bytes were read out. Returns by how much the window is to be opened now; 0 when that can wait.
  ///
  /// - Parameter keepsUp: whether the reader has taken everything that arrived.
  package mutating func consumed(_ count: Int, keepsUp: Bool) -> Int {
    owed += count
    guard owed >= size / 2 else { return 0 }
    var increment = owed
    owed = 0
    if keepsUp, size < maximum {
      let grown = min(size * 2, maximum)
      increment += grown - size
      size = grown
    }
    available += increment
    return increment
  }
}
