/// The Content-Range field (RFC 9110 §14.4), byte ranges only.
package enum ContentRange: Sendable, Equatable {
  /// `bytes first-last/total`; both ends belong to the range. The total is nil when written as `*`.
  case part(first: Int64, last: Int64, total: Int64?)
  /// `bytes */total`: the answer to a range that lies outside.
  case unsatisfied(total: Int64)

  /// nil when malformed, of another unit, impossible (`last` before `first`, or beyond `total`), or over 2⁶³−1.
  package init?(parsing value: String) {
    let text = value.trimmingHTTPWhitespace().utf8[...]
    let unit = text.prefix { !$0.isHTTPWhitespace }
    guard asciiCaseInsensitiveEqual(String(Substring(unit)), "bytes") else { return nil }
    let spec = text[unit.endIndex...].drop(while: \.isHTTPWhitespace)
    let parts = spec.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2, let range = parts.first, let totalText = parts.last else { return nil }

    let total = Int64(decimalDigits: totalText)
    if range.elementsEqual("*".utf8) {
      guard let total else { return nil }
      self = .unsatisfied(total: total)
      return
    }
    guard total != nil || totalText.elementsEqual("*".utf8) else { return nil }
    let ends = range.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard ends.count == 2, let first = ends.first.flatMap({ Int64(decimalDigits: $0) }),
      let last = ends.last.flatMap({ Int64(decimalDigits: $0) })
    else { return nil }
    // The length, last − first + 1, must be countable too.
    guard first <= last, last < .max, total.map({ last < $0 }) ?? true else { return nil }
    self = .part(first: first, last: last, total: total)
  }

  /// How many bytes the part holds; nil for an unsatisfied range.
  package var length: Int64? {
    guard case .part(let first, let last, _) = self else { return nil }
    return last - first + 1
  }
}
