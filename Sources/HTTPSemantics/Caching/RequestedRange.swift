/// A Range of one part, in bytes (RFC 9110 §14.1.2).
package enum RequestedRange: Sendable, Equatable {
  case from(Int64)
  case between(Int64, Int64)
  case suffix(Int64)

  /// nil for other units, several parts, and what is malformed.
  package init?(_ value: String) {
    let text = value.trimmingHTTPWhitespace()
    let parts = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, asciiCaseInsensitiveEqual(Substring(parts[0]), "bytes") else { return nil }
    let spec = Substring(parts[1]).trimmingHTTPWhitespace()
    let ends = spec.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Int64(decimalDigits: ends[0]), Int64(decimalDigits: ends[1])) {
    case (let first?, let last?) where first <= last: self = .between(first, last)
    case (let first?, nil) where ends[1].isEmpty: self = .from(first)
    case (nil, let count?) where ends[0].isEmpty && count > 0: self = .suffix(count)
    default: return nil
    }
  }

  /// The bytes that are meant of a representation of `total` bytes; nil when there are none, or that depends on an
  /// unknown length.
  package func resolved(total: Int64?) -> (first: Int64, last: Int64)? {
    guard let total else {
      if case .between(let first, let last) = self { return (first, last) }
      return nil
    }
    switch self {
    case .from(let first): return first < total ? (first, total - 1) : nil
    case .between(let first, let last): return first < total ? (first, min(last, total - 1)) : nil
    case .suffix(let count): return total > 0 ? (max(0, total - count), total - 1) : nil
    }
  }
}
