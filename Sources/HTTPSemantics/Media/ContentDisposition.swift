/// The Content-Disposition field of a response (RFC 6266).
package struct ContentDisposition: Sendable, Equatable {
  /// In lower case: `inline`, `attachment`, or another. Empty when the server left it out.
  package var kind: String
  /// A name in one directory, never a path; nil when none was given or nothing usable is left of it.
  package var filename: String?

  package init(parsing value: String) {
    let text = value.utf8
    let first = text.prefix { $0 != UInt8(ascii: ";") }
    var parameterBytes = text[first.endIndex...]
    if first.contains(UInt8(ascii: "=")) {
      // Without a type, as in `filename=a.txt`: not the grammar of RFC 6266 §4.1, but sent.
      kind = ""
      parameterBytes = text[...]
    } else {
      kind = String(Substring(first)).trimmingHTTPWhitespace().asciiLowercased()
    }
    let parameters = FieldParameters(parsing: parameterBytes, endsAtComma: false)
    // RFC 6266 §4.3: the extended form is preferred where it can be read.
    let proposed = parameters["filename*"].flatMap(Self.extendedValue) ?? parameters["filename"]
    filename = proposed.flatMap(SafeFilename.sanitize)
  }

  /// RFC 8187 §3.2: `charset'language'percent-encoded`, in UTF-8 or, of old, ISO-8859-1. nil when malformed.
  static func extendedValue(_ text: String) -> String? {
    let parts = text.utf8.split(
      separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let charset = parts.first, let encoded = parts.last,
      let bytes = percentDecoded(encoded, lenient: false)
    else { return nil }
    switch String(Substring(charset)).asciiLowercased() {
    case "utf-8": return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1": return String(decoding: bytes.map(UInt16.init), as: UTF16.self)
    default: return nil
    }
  }
}
