/// The format `application/x-www-form-urlencoded` (WHATWG URL standard §5): `name=value&name=value`.
package enum FormEncoding {
  /// A name and its value; nil for a name without `=`.
  package typealias Field = (name: String, value: String?)

  /// The fields as text that has letters, digits and `*-._+%&=` only, whatever the names and values have.
  ///
  /// A space is `+`; a letter, a digit and `*-._` stand for themselves; of everything else each byte of its UTF-8 is
  /// percent-encoded. So no value can begin another field.
  package static func encoded(_ fields: [Field]) -> String {
    var output: [UInt8] = []
    var isFirst = true
    for (name, value) in fields {
      if !isFirst { output.append(separator) }
      isFirst = false
      append(name, to: &output)
      guard let value else { continue }
      output.append(assignment)
      append(value, to: &output)
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// The fields that `text` has, in order. It is cut into its parts first and decoded then, so that an encoded `&` or
  /// `=` is part of a name or value.
  ///
  /// Nothing is malformed: a `%` that two hexadecimal digits do not follow stands for itself, and bytes that are not
  /// UTF-8 become U+FFFD.
  package static func fields(of text: String) -> [Field] {
    text.utf8.split(separator: separator).map { part in
      guard let end = part.firstIndex(of: assignment) else { return (decoded(part), nil) }
      return (decoded(part[..<end]), decoded(part[part.index(after: end)...]))
    }
  }

  private static let separator = UInt8(ascii: "&")
  private static let assignment = UInt8(ascii: "=")

  private static func append(_ text: String, to output: inout [UInt8]) {
    for byte in text.utf8 {
      switch byte {
      case 0x20: output.append(UInt8(ascii: "+"))
      case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): output.append(byte)
      case _ where byte.isLetter || byte.isDigit: output.append(byte)
      default: output.appendPercentEncoding(of: byte)
      }
    }
  }

  private static func decoded(_ part: Substring.UTF8View) -> String {
    let spaced = part.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
    // A lenient decoding never fails.
    return String(decoding: percentDecoded(spaced) ?? [], as: UTF8.self)
  }
}
