/// The Basic scheme (RFC 7617) among the challenges of WWW-Authenticate or Proxy-Authenticate.
package enum BasicChallenge {
  /// Whether Basic is offered, and for which realm. nil when it is not.
  package static func realm(in values: [String]) -> String?? {
    for value in values {
      let bytes = Array(value.utf8)
      guard let at = schemeIndex(in: bytes) else { continue }
      // What follows the name of the scheme looks like the parameters of a field.
      let rest = Array(";".utf8) + commasAsSemicolons(bytes.dropFirst(at + 5))
      return .some(FieldParameters(parsing: rest, endsAtComma: false)["realm"])
    }
    return nil
  }

  /// The next `Basic` that begins a challenge: at the start or after a comma, outside quotes, before a space or the end.
  private static func schemeIndex(in bytes: [UInt8]) -> Int? {
    var isQuoted = false
    var mayBegin = true
    for index in bytes.indices {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      guard !isQuoted else {
        mayBegin = false
        continue
      }
      if mayBegin, bytes[index...].prefix(5).map(\.lowercased).elementsEqual("basic".utf8) {
        let after = bytes[index...].dropFirst(5).first
        if after == nil || after == 0x20 || after == 0x09 || after == UInt8(ascii: ",") { return index }
      }
      if byte == UInt8(ascii: ",") { mayBegin = true } else if !byte.isHTTPWhitespace { mayBegin = false }
    }
    return nil
  }

  private static func commasAsSemicolons(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var isQuoted = false
    return bytes.map { byte in
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      return byte == UInt8(ascii: ",") && !isQuoted ? UInt8(ascii: ";") : byte
    }
  }
}
