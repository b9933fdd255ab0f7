import Foundation

/// Writes the JSON of a message byte by byte, as `MessageFraming.encode` writes it by `Codable`, in a fraction of its time.
///
/// Fields stand in the order in which they are written: the types write them in the order of their names.
package struct JSONWriter {
  /// An array: `Data` checks each of many small additions anew.
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  package init() { bytes.reserveCapacity(1_024) }

  /// `{…}`
  package mutating func object(_ fields: (inout JSONWriter) throws -> Void) rethrows {
    bytes.append(UInt8(ascii: "{"))
    needsComma = false
    try fields(&self)
    bytes.append(UInt8(ascii: "}"))
    needsComma = true
  }

  /// `[…]`
  package mutating func array<Element>(
    _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) throws -> Void
  ) rethrows {
    bytes.append(UInt8(ascii: "["))
    needsComma = false
    for element in elements {
      separate()
      try write(&self, element)
      needsComma = true
    }
    bytes.append(UInt8(ascii: "]"))
    needsComma = true
  }

  /// Nothing where there is no value.
  package mutating func field(_ name: StaticString, _ value: (some DirectJSON)?) throws {
    guard let value else { return }
    self.name(name)
    try value.write(to: &self)
    needsComma = true
  }

  /// The same of a value that is written by `Codable`, since it is rare or small.
  package mutating func codableField(_ name: StaticString, _ value: (some Encodable)?) throws {
    guard let value else { return }
    self.name(name)
    try codable(value)
  }

  /// `null` where there is no value.
  package mutating func nullableField(_ name: StaticString, _ value: (some DirectJSON)?) throws {
    if let value { return try field(name, value) }
    self.name(name)
    plain("null")
  }

  /// `null` where there is no value, else an object.
  package mutating func nullableObject<Value>(
    _ name: StaticString, _ value: Value?, _ fields: (inout JSONWriter, Value) throws -> Void
  ) rethrows {
    self.name(name)
    if let value { try object { try fields(&$0, value) } } else { plain("null") }
  }

  /// The body of a message, which has a type of its own for each name of a message.
  mutating func body(_ body: (any Encodable)?) throws {
    guard let body else { return }
    if let body = body as? any DirectJSON { try field("body", body) } else { try codableField("body", body) }
  }

  /// The name of a field, whose value has to follow.
  package mutating func name(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  package mutating func codable(_ value: some Encodable) throws {
    bytes.append(contentsOf: try MessageFraming.makeEncoder().encode(value))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }

  /// Digits, `true` and the like.
  mutating func plain(_ text: String) {
    bytes.append(contentsOf: text.utf8)
    needsComma = true
  }

  mutating func number(_ value: some BinaryFloatingPoint & CustomStringConvertible) throws {
    guard value.isFinite else {
      throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "\(value) is no number of JSON"))
    }
    let text = value.description
    plain(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }

  mutating func string(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    var value = value
    value.withUTF8 { text in
      var start = 0
      for index in text.indices where JSONWriter.isEscaped(text[index]) {
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<index]))
        bytes.append(contentsOf: JSONWriter.escape(text[index]).utf8)
        start = index + 1
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
    }
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private static func escape(_ byte: UInt8) -> String {
    switch byte {
    case UInt8(ascii: "\""): return "\\\""
    case UInt8(ascii: "\\"): return "\\\\"
    case 0x08: return "\\b"
    case 0x0C: return "\\f"
    case UInt8(ascii: "\n"): return "\\n"
    case UInt8(ascii: "\r"): return "\\r"
    case UInt8(ascii: "\t"): return "\\t"
    default:
      let digits = String(byte, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }
}
