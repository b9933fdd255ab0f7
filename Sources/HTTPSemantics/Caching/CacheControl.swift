/// The directives of Cache-Control, of a request or a response (RFC 9111 §5.2, RFC 5861, RFC 8246).
///
/// Unknown directives are ignored. A directive with a value that can't be read errs on the side of not reusing a
/// response (RFC 9111 §4.2.1).
package struct CacheControl: Sendable, Equatable {
  /// The value of a directive that counts seconds.
  package enum Seconds: Sendable, Equatable {
    case count(Int64)
    case unreadable

    /// An unreadable number counts as none: a response with it is stale.
    package var count: Int64 {
      if case .count(let count) = self { count } else { 0 }
    }
  }

  package var maxAge: Seconds?
  package var sharedMaxAge: Seconds?
  package var minFresh: Seconds?
  /// `Int64.max` for `max-stale` without a value: any staleness is accepted.
  package var maxStale: Seconds?
  package var staleWhileRevalidate: Seconds?
  package var staleIfError: Seconds?
  /// `no-cache` without field names.
  package var noCache = false
  /// The fields that `no-cache="…"` names, in lower case.
  package var noCacheFields: [String] = []
  package var noStore = false
  package var isPublic = false
  package var isPrivate = false
  package var mustRevalidate = false
  package var mustUnderstand = false
  package var isImmutable = false
  package var onlyIfCached = false
  package var noTransform = false

  package init() {}

  /// The directives of all Cache-Control fields together (RFC 9110 §5.3).
  package init(_ fields: HTTPFields) {
    var start = 0
    while let index = fields.firstIndex(of: "Cache-Control", from: start) {
      read(fields.fields[index].value)
      start = index + 1
    }
  }

  /// The directives of a request. RFC 9111 §5.4: without Cache-Control, `Pragma: no-cache` stands for `no-cache`.
  package init(request fields: HTTPFields) {
    self.init(fields)
    if fields.hasToken("no-cache", in: "Pragma"), !fields.contains("Cache-Control") { noCache = true }
  }

  private mutating func read(_ value: String) {
    // Nothing but one word, which is not taken apart: responses that are fetched each time mostly have it.
    switch value {
    case "no-store": noStore = true
    case "no-cache": noCache = true
    default:
      var scanner = CacheDirectiveScanner(value)
      while let directive = scanner.next() { read(directive) }
    }
  }

  private mutating func read(_ directive: CacheDirective) {
    switch directive.name {
    case "max-age": CacheControl.read(directive, into: &maxAge)
    case "s-maxage": CacheControl.read(directive, into: &sharedMaxAge)
    case "min-fresh": CacheControl.read(directive, into: &minFresh)
    case "max-stale":
      // RFC 9111 §5.2.1.2: without a value, a response of any age is accepted.
      if directive.hasValue { CacheControl.read(directive, into: &maxStale) } else { maxStale = .count(.max) }
    case "stale-while-revalidate": CacheControl.read(directive, into: &staleWhileRevalidate)
    case "stale-if-error": CacheControl.read(directive, into: &staleIfError)
    case "no-cache": readNoCache(directive)
    case "no-store": noStore = true
    case "public": isPublic = true
    case "private": isPrivate = true
    case "must-revalidate": mustRevalidate = true
    case "must-understand": mustUnderstand = true
    case "immutable": isImmutable = true
    case "only-if-cached": onlyIfCached = true
    case "no-transform": noTransform = true
    default: break
    }
    // A quote that never closes hides what follows it, so nothing may be concluded from its absence.
    if directive.isUnterminated { maxAge = .unreadable }
  }

  /// RFC 9111 §4.2.1: of different values for one directive, none may make a response fresh that another makes stale.
  private static func read(_ directive: CacheDirective, into seconds: inout Seconds?) {
    guard !directive.isMalformed, let count = deltaSeconds(directive.value) else { return seconds = .unreadable }
    seconds = seconds.map { $0 == .unreadable ? .unreadable : .count(min($0.count, count)) } ?? .count(count)
  }

  /// RFC 9111 §1.2.2: a number that is too large is taken for a very large one. nil for what is no number.
  static func deltaSeconds(_ digits: some Collection<UInt8>) -> Int64? {
    guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
    return Int64(decimalDigits: digits).map { min($0, largestDelta) } ?? largestDelta
  }

  /// Far more than any lifetime, and far from what overflows in a sum.
  static let largestDelta: Int64 = 1 << 40

  private mutating func readNoCache(_ directive: CacheDirective) {
    // RFC 9111 §5.2.2.4: with field names, only those fields need validation. Names that can't be read mean all.
    guard directive.hasValue, !directive.isMalformed else { return noCache = true }
    let names = directive.value.split(separator: UInt8(ascii: ",")).map {
      String(decoding: $0, as: UTF8.self).trimmingHTTPWhitespace().asciiLowercased()
    }
    guard !names.isEmpty, names.count <= 64, names.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isToken) }) else {
      return noCache = true
    }
    noCacheFields += names
    if noCacheFields.count > 256 { noCache = true }
  }
}
