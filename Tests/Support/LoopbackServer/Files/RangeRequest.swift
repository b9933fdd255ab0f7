/// What a GET's Range field asks of a resource of a known size.
enum RangeRequest: Equatable {
  /// No Range, or one this server does not understand and therefore ignores (RFC 9110 §14.2).
  case whole
  case part(Range<Int64>)
  case unsatisfiable

  /// Understands one range of bytes; several ranges are answered with the whole, as a server may.
  init(_ field: String?, size: Int64) {
    guard let field, field.hasPrefix("bytes=") else {
      self = .whole
      return
    }
    let ends = field.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
      .map { String($0).trimmingBlanks() }
    guard ends.count == 2, ends.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }) else {
      self = .whole
      return
    }
    switch (Int64(ends[0]), Int64(ends[1])) {
    case (let first?, let last?) where last >= first:
      self = first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
    case (let first?, nil) where ends[1].isEmpty:
      self = first < size ? .part(first..<size) : .unsatisfiable
    case (nil, let suffix?) where ends[0].isEmpty:
      // RFC 9110 §14.1.2: a suffix of zero bytes cannot be satisfied.
      self = suffix > 0 && size > 0 ? .part(max(size - suffix, 0)..<size) : .unsatisfiable
    default:
      self = .whole
    }
  }
}
