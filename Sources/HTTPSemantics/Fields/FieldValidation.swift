/// The rules of what may be written into a request. An app's strings reach the wire only through these rules, so that
/// none of them can end a line early and begin a header, or a request, of its own.
package enum FieldValidation {
  /// Why a string was kept off the wire.
  package enum Refusal: Error, Sendable, Equatable {
    case invalidMethod
    case invalidTarget
    case invalidAuthority
    case invalidName(String)
    case invalidValue(name: String)

    package var sentence: String {
      switch self {
      case .invalidMethod: "The request's method is empty or holds a character that a method can't have."
      case .invalidTarget: "The request's target is empty or holds a space, a control or a non-ASCII character."
      case .invalidAuthority: "The request's host holds a space, a control or a non-ASCII character."
      case .invalidName(let name): "\u{201C}\(Self.printable(name))\u{201D} can't be the name of a header field."
      case .invalidValue(let name):
        "The value of the header field \(name) holds a line end or another control character."
      }
    }

    /// `text` as it may stand in a log: cut off, without the line ends and control characters that made it invalid.
    private static func printable(_ text: String) -> String {
      String(
        String.UnicodeScalarView(
          text.unicodeScalars.prefix(64).map { $0.value < 0x20 || $0.value == 0x7f ? "\u{FFFD}" : $0 }))
    }
  }

  /// RFC 9110 §9.1: a method is a token.
  package static func isMethod(_ method: String) -> Bool { isToken(method) }

  /// RFC 9110 §5.1: a field name is a token.
  package static func isFieldName(_ name: String) -> Bool { isToken(name) }

  /// RFC 9110 §5.5: visible characters, obs-text, spaces and tabs. CR, LF, NUL and the other controls are not.
  package static func isFieldValue(_ value: String) -> Bool {
    value.hasOnly { !$0.isControl || $0 == 0x09 }
  }

  /// Whether an app may give a request this value: one that can be sent as it is, or in one line where it was folded.
  /// Unlike `sanitized` this takes no line end at the end of the value.
  package static func canBeSent(_ value: String) -> Bool {
    // The common case, told without making anything.
    isFieldValue(value) || isFieldValue(unfolded(value))
  }

  /// RFC 9112 §5.2: a line that was folded is one line, with a space where it was folded.
  private static func unfolded(_ value: String) -> String {
    guard value.utf8.contains(0x0D) else { return value }
    var bytes: [UInt8] = []
    var rest = Array(value.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == 0x0D, rest.first == 0x0A, let next = rest.dropFirst().first, next == 0x20 || next == 0x09 else {
        bytes.append(byte)
        continue
      }
      rest = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
      bytes.append(0x20)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// RFC 9112 §3.2: one or more visible ASCII characters; anything else would end or split the request line.
  package static func isTarget(_ target: String) -> Bool {
    !target.isEmpty && target.hasOnly { $0 > 0x20 && $0 < 0x7F }
  }

  /// RFC 9112 §3.2: Host may be empty, but never hold a space, a control, a non-ASCII byte, or another URL component.
  package static func isAuthority(_ authority: String) -> Bool {
    authority.hasOnly { byte in
      byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "@")
        && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "\\")
    }
  }

  /// The field as it may be sent, its value without whitespace at either end; or why it may not be sent at all.
  ///
  /// A line end at the very end of a value is taken for sloppiness and trimmed too; anywhere else it is an injection.
  package static func sanitized(name: String, value: String) -> Result<HTTPFields.Field, Refusal> {
    guard isFieldName(name) else { return .failure(.invalidName(name)) }
    let trimmed = unfolded(value.trimmingLineEnds())
    guard isFieldValue(trimmed) else { return .failure(.invalidValue(name: name)) }
    return .success(HTTPFields.Field(name: name, value: trimmed))
  }

  /// The fields that may be sent, in order, and why each of the others may not.
  package static func sanitized(_ fields: HTTPFields) -> (sent: HTTPFields, refused: [Refusal]) {
    var sent = HTTPFields()
    var refused: [Refusal] = []
    for field in fields.fields {
      switch sanitized(name: field.name, value: field.value) {
      case .success(let clean): sent.fields.append(clean)
      case .failure(let refusal): refused.append(refusal)
      }
    }
    return (sent, refused)
  }

  /// Whether only the transport writes this field: framing and connection management (RFC 9110 §7.6.1, RFC 9112 §6).
  /// An app that could set them would disagree with the bytes that follow.
  package static func isOwnedByTransport(_ name: String) -> Bool {
    transportFields.contains { asciiCaseInsensitiveEqual($0, name) }
  }

  private static let transportFields = [
    "Connection", "Content-Length", "Host", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade",
  ]

  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.hasOnly(\.isToken)
  }
}

extension String {
  /// Whether all bytes are as asked. Strings are mostly stored in one piece, which is read faster than byte by byte.
  @inline(__always)
  fileprivate func hasOnly(_ isWanted: (UInt8) -> Bool) -> Bool {
    utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isWanted) } ?? utf8.allSatisfy(isWanted)
  }

  /// Without whitespace at either end, and without line ends at the end.
  fileprivate func trimmingLineEnds() -> String {
    var text = utf8[...]
    while let last = text.last, last == 0x20 || last == 0x09 || last == 0x0D || last == 0x0A { text.removeLast() }
    while let first = text.first, first.isHTTPWhitespace { text.removeFirst() }
    return String(Substring(text))
  }
}
