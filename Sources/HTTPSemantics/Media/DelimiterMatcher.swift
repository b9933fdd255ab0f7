/// Recognises the lines that part a multipart body: `--` and the boundary, and `--` behind it for the last (RFC 2046
/// §5.1.1).
///
/// If the boundary parameter begins with `--`, a frequent mistake is to take the parameter as the delimiter itself.
/// Both readings are accepted until one has been seen; from then on only that one.
struct DelimiterMatcher: Sendable {
  enum Match: Equatable {
    case no
    /// It may be one when more bytes have come.
    case undecided
    /// `end`: the offset behind it, its line end included unless it is the last.
    case yes(end: Int, isLast: Bool)
  }

  private var delimiters: [[UInt8]]

  /// RFC 2046 §5.1.1 allows white space behind the delimiter and says nothing of how much.
  private static let maximumPadding = 256

  init(boundary: String) {
    delimiters = [Array("--".utf8) + Array(boundary.utf8)]
    if boundary.hasPrefix("--") { delimiters.append(Array(boundary.utf8)) }
  }

  /// - Parameter isComplete: whether nothing will follow `bytes`.
  mutating func match(_ bytes: [UInt8], at start: Int, isComplete: Bool) -> Match {
    var isUndecided = false
    for delimiter in delimiters {
      switch DelimiterMatcher.match(bytes, at: start, delimiter, isComplete: isComplete) {
      case .no: continue
      case .undecided: isUndecided = true
      case .yes(let end, let isLast):
        // With a boundary of dashes alone, the one reading begins with the other.
        guard !isUndecided else { return .undecided }
        if delimiters.count > 1 { delimiters = [delimiter] }
        return .yes(end: end, isLast: isLast)
      }
    }
    return isUndecided ? .undecided : .no
  }

  private static func match(_ bytes: [UInt8], at start: Int, _ delimiter: [UInt8], isComplete: Bool) -> Match {
    let present = min(bytes.count - start, delimiter.count)
    for offset in 0..<max(0, present) where bytes[start + offset] != delimiter[offset] { return .no }
    guard present == delimiter.count else { return isComplete ? .no : .undecided }
    var end = start + delimiter.count
    if end < bytes.count, bytes[end] == UInt8(ascii: "-") {
      guard end + 1 < bytes.count else { return isComplete ? .no : .undecided }
      return bytes[end + 1] == UInt8(ascii: "-") ? .yes(end: end + 2, isLast: true) : .no
    }
    let padded = end
    while end < bytes.count, bytes[end].isHTTPWhitespace {
      end += 1
      guard end - padded <= maximumPadding else { return .no }
    }
    if end < bytes.count, bytes[end] == 0x0D { end += 1 }
    guard end < bytes.count else { return isComplete ? .yes(end: end, isLast: false) : .undecided }
    return bytes[end] == 0x0A ? .yes(end: end + 1, isLast: false) : .no
  }
}
