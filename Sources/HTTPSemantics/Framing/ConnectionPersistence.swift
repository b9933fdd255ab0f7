extension ResponseFraming {
  /// Whether the server leaves the connection open after this response (RFC 9112 §9.3). The framing may forbid reuse
  /// all the same: see `allowsReuse`.
  package static func keepsAlive(head: HTTPResponseHead) -> Bool {
    if head.fields.hasToken("close", in: "Connection") { return false }
    // RFC 9110 §8.6, RFC 9112 §6.1: a 204 may not announce a body. The bytes of one that does would begin the next response.
    if head.status == 204, head.announcesBody { return false }
    if head.version >= .http11 { return true }
    // RFC 9112 §6.1: Transfer-Encoding in HTTP/1.0 means that something on the way did not understand the framing.
    if head.fields.contains("Transfer-Encoding") { return false }
    return head.fields.hasToken("keep-alive", in: "Connection")
  }

  /// Whether the end of a body framed like this leaves the connection where another response can begin.
  package var allowsReuse: Bool { self != .untilClose }
}

extension HTTPResponseHead {
  fileprivate var announcesBody: Bool {
    fields.contains("Transfer-Encoding")
      || fields.values("Content-Length").contains { Int64(decimalDigits: $0.utf8) != 0 }
  }
}

/// The limits that a server names in `Keep-Alive: timeout=5, max=100` (RFC 2068 §19.7.1.1): how long, and for how many
/// more requests, it means to keep an idle connection. Parameters that are absent or unreadable are nil.
package struct KeepAliveHint: Sendable, Equatable {
  /// Seconds.
  package var timeout: Int64?
  /// Requests.
  package var max: Int64?

  package init(timeout: Int64? = nil, max: Int64? = nil) {
    self.timeout = timeout
    self.max = max
  }

  /// nil when the response has no Keep-Alive field.
  package init?(head: HTTPResponseHead) {
    guard let value = head.fields["Keep-Alive"] else { return nil }
    self.init(parsing: value)
  }

  package init(parsing value: String) {
    for member in value.utf8.split(whereSeparator: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }) {
      let parts = member.split(separator: UInt8(ascii: "="), maxSplits: 1)
      guard parts.count == 2, let name = parts.first, let number = parts.last else { continue }
      let text = String(Substring(number)).trimmingHTTPWhitespace()
      let unquoted = text.utf8.filter { $0 != UInt8(ascii: "\"") }
      guard let value = Int64(decimalDigits: unquoted) else { continue }
      switch String(Substring(name)).trimmingHTTPWhitespace().asciiLowercased() {
      case "timeout" where timeout == nil: timeout = value
      case "max" where max == nil: max = value
      default: continue
      }
    }
  }
}
