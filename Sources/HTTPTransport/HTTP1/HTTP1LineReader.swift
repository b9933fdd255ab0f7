import Glibc

/// Finds the ends of lines in bytes that arrive piece by piece, looking at each byte once.
///
/// The caller keeps the bytes of an incomplete line and presents them again with more behind them; what of them has
/// been searched is remembered here.
struct HTTP1LineReader {
  /// A complete line: the offset at which its content ends, and the one at which the next line starts.
  struct Line {
    var end: Int
    var next: Int
    /// Whether CR stood before the LF.
    var hasCarriageReturn: Bool
  }

  private var limit: Int
  private var overflow: HTTP1ParseError
  /// Bytes of the incomplete line that hold no line end.
  private var searched = 0
  /// Bytes of the complete lines, their ends included.
  private(set) var taken = 0

  /// - Parameters:
  ///   - limit: how many bytes all lines together may have.
  ///   - overflow: what is thrown when they have more.
  init(limit: Int, overflow: HTTP1ParseError) {
    self.limit = limit
    self.overflow = overflow
  }

  /// Whether any byte has been seen, even of an incomplete line.
  var hasSeenBytes: Bool { taken > 0 || searched > 0 }

  /// The line that starts at `start`; nil while its end has not arrived.
  mutating func next(in bytes: UnsafeRawBufferPointer, at start: Int) throws(HTTP1ParseError) -> Line? {
    let available = bytes.count - start
    guard let base = bytes.baseAddress, available > searched else { return nil }
    let unsearched = base + start + searched
    guard let found = memchr(unsearched, 0x0A, available - searched) else {
      searched = available
      guard taken + available <= limit else { throw overflow }
      return nil
    }
    let lineFeed = base.distance(to: UnsafeRawPointer(found))
    searched = 0
    taken += lineFeed + 1 - start
    guard taken <= limit else { throw overflow }
    let hasCarriageReturn = lineFeed > start && bytes[lineFeed - 1] == 0x0D
    return Line(
      end: hasCarriageReturn ? lineFeed - 1 : lineFeed, next: lineFeed + 1, hasCarriageReturn: hasCarriageReturn)
  }
}
