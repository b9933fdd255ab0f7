/// How the body of a response is delimited (RFC 9112 §6.3).
package enum ResponseFraming: Sendable, Equatable {
  /// The head is the whole message, whatever its fields say.
  case none
  case length(Int64)
  case chunked
  /// The body ends where the connection does.
  case untilClose

  /// Applies the rules of RFC 9112 §6.3 in their order.
  /// - Parameter method: the method of the request that `head` answers.
  package static func decide(method: String, head: HTTPResponseHead) throws(FramingError) -> ResponseFraming {
    // §6.3 item 1: HEAD, 1xx, 204 and 304 end with the head.
    if method == "HEAD" || head.isInformational || head.status == 204 || head.status == 304 { return .none }
    // §6.3 item 2: a tunnel begins; what follows is not this response's body.
    if method == "CONNECT" && (200..<300).contains(head.status) { return .none }

    var length: Int64?
    var transferEncoding = TransferEncoding.absent
    let fields = head.fields.fields
    for index in fields.indices {
      switch fields[index].name.utf8.count {
      case 14 where asciiCaseInsensitiveEqual(fields[index].name, "Content-Length"):
        length = try contentLength(fields[index].value, after: length)
      case 17 where asciiCaseInsensitiveEqual(fields[index].name, "Transfer-Encoding"):
        try transferEncoding.read(fields[index].value)
      default:
        continue
      }
    }
    switch transferEncoding {
    case .chunked:
      // §6.3 item 3: Transfer-Encoding would override, but the pair is how responses are smuggled: an error.
      guard length == nil else { throw .lengthWithTransferEncoding }
      return .chunked
    case .identity, .unknown:
      // The pair is an error whatever the coding says: a recipient on the way may have read the body by another rule.
      guard length == nil else { throw .lengthWithTransferEncoding }
      return .untilClose
    case .absent:
      // §6.3 items 5, 6 and 8.
      return length.map { .length($0) } ?? .untilClose
    }
  }

  /// Reads one Content-Length field. A list, or a further field, of one repeated value counts as that value
  /// (RFC 9110 §8.6); values that differ are an error.
  private static func contentLength(_ value: String, after earlier: Int64?) throws(FramingError) -> Int64 {
    if let plain = Int64(decimalDigits: value.utf8) {
      guard earlier == nil || earlier == plain else { throw .conflictingLengths }
      return plain
    }
    var agreed = earlier
    for member in value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      let digits = String(Substring(member)).trimmingHTTPWhitespace()
      guard let length = Int64(decimalDigits: digits.utf8) else { throw .invalidLength }
      guard agreed == nil || agreed == length else { throw .conflictingLengths }
      agreed = length
    }
    guard let agreed else { throw .invalidLength }
    return agreed
  }

  /// The meaning of the Transfer-Encoding fields read so far.
  private enum TransferEncoding {
    case absent, identity, chunked, unknown

    /// Only `chunked` is ever offered, so a coding that is known is an error (RFC 9112 §7.4): its bytes can't be decoded.
    /// `identity`, withdrawn by RFC 7230 but still sent, says nothing. A value that names no coding at all does not
    /// either; where it stands alone the body ends with the connection (RFC 9112 §6.3 item 4). A parameter on chunked is
    /// an error (RFC 9112 §7.1).
    mutating func read(_ value: String) throws(FramingError) {
      for member in value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
        let coding = String(Substring(member)).trimmingHTTPWhitespace()
        if coding.isEmpty { throw .invalidTransferEncoding }
        let isIdentity = asciiCaseInsensitiveEqual(coding, "identity")
        guard isIdentity || asciiCaseInsensitiveEqual(coding, "chunked") else {
          guard case .absent = self, Self.isUnknown(coding) else { throw .unsupportedTransferEncoding }
          self = .unknown
          continue
        }
        switch self {
        case .absent: self = isIdentity ? .identity : .chunked
        // RFC 9112 §6.1: chunked is applied once, and last.
        case .chunked: throw .invalidTransferEncoding
        case .unknown: throw .unsupportedTransferEncoding
        case .identity: if !isIdentity { self = .chunked }
        }
      }
    }

    /// The codings of RFC 9112 §7.2, and what only looks like `chunked`, are known.
    private static func isUnknown(_ coding: String) -> Bool {
      let known = ["gzip", "x-gzip", "deflate", "compress", "x-compress"]
      guard FieldValidation.isFieldName(coding), !known.contains(where: { asciiCaseInsensitiveEqual($0, coding) })
      else { return false }
      return !coding.lowercased().contains("chunked")
    }
  }
}
