import Foundation

/// Reads JSON in UTF-8 that may have been made to do harm.
///
/// The toolchain's parser has a limit to nesting of its own, and stops the process where that is passed by the last
/// byte. What goes deeper than anything we read is refused before it.
package enum JSONReader {
  /// The toolchain's is 512.
  package static let maximumDepth = 256

  /// - Throws: `DecodingError`.
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from json: Data, dates: JSONDecoder.DateDecodingStrategy = .deferredToDate
  ) throws -> Value {
    try check(json)
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = dates
    return try decoder.decode(type, from: json)
  }

  /// The value that `JSONSerialization` makes of `json`.
  package static func plainValue(of json: Data) throws -> Any {
    try check(json)
    return try JSONSerialization.jsonObject(with: json)
  }

  private static func check(_ json: Data) throws {
    guard json.withUnsafeBytes({ isPlain($0) }) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "No JSON in UTF-8, or nested too deep"))
    }
  }

  /// Whether it is nested no deeper than the limit, as far as it is JSON. Another encoding would hide the brackets that
  /// are counted, and has bytes of zero or begins with a byte order mark.
  private static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = bytes.first, first < 0xFE else { return false }
    var depth = 0
    var isInString = false
    var isEscaped = false
    for byte in bytes {
      guard byte != 0 else { return false }
      if isEscaped {
        isEscaped = false
      } else if isInString {
        if byte == UInt8(ascii: "\\") { isEscaped = true }
        if byte == UInt8(ascii: "\"") { isInString = false }
      } else {
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "["), UInt8(ascii: "{"):
          depth += 1
          guard depth <= maximumDepth else { return false }
        case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        default: break
        }
      }
    }
    return true
  }
}
