import Foundation

/// Writes the JSON of a message byte by byte, as `MessageFraming.encode` writes it by `Codable`, in a fraction of its time.
///
/// Fields stand in the order in which they are written: the types write them in the order of their names.
package struct JSONWriter {
  /// An array: `Data` checks each of many small additions anew.
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false
  /// How many values lie around the next one; nil where all is on one line.
  private var depth: Int?

  /// - Parameters:
  ///   - depth: How many values lie around the first one, where each value is to have a line of its own, as `JSONEncoder`
  ///     lays it out for people. What `Codable` writes stays on one line. nil: all is on one line.
  ///   - capacity: How many bytes are expected.
  package init(linesAtDepth depth: Int? = nil, capacity: Int = 1_024) {
    self.depth = depth
    bytes.reserveCapacity(capacity)
  }

  /// `{…}`
  package mutating func object(_ fields: (inout JSONWriter) throws -> Void) rethrows {
    open(UInt8(ascii: "{"))
    try fields(&self)
    close(UInt8(ascii: "}"))
  }

  /// `[…]`
  package mutating func array<Element>(
    _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) throws -> Void
  ) rethrows {
    open(UInt8(ascii: "["))
    for element in elements {
      separate()
      try write(&self, element)
      needsComma = true
    }
    close(UInt8(ascii: "]"))
  }

  private mutating func open(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = false
    guard let depth else { return }
    self.depth = depth + 1
    bytes.append(UInt8(ascii: "\n"))
  }

  private mutating func close(_ bracket: UInt8) {
    if let depth {
      self.depth = depth - 1
      bytes.append(UInt8(ascii: "\n"))
      indent(depth - 1)
    }
    bytes.append(bracket)
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

  // Another module gets no version of its own of a function that is generic; these serve it.

  package mutating func string(_ name: StaticString, _ value: String) {
    self.name(name)
    string(value)
  }

  package mutating func integer(_ name: StaticString, _ value: Int64) {
    self.name(name)
    plain(value.description)
  }

  /// `null` where there is no value.
  package mutating func nullableString(_ name: StaticString, _ value: String?) {
    if let value { string(name, value) } else { null(name) }
  }

  /// `null` where there is no value.
  package mutating func nullableInteger(_ name: StaticString, _ value: Int64?) {
    if let value { integer(name, value) } else { null(name) }
  }

  package mutating func null(_ name: StaticString) {
    self.name(name)
    plain("null")
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
    if depth != nil { bytes.append(UInt8(ascii: " ")) }
    bytes.append(UInt8(ascii: ":"))
    if depth != nil { bytes.append(UInt8(ascii: " ")) }
  }

  package mutating func codable(_ value: some Encodable) throws {
    bytes.append(contentsOf: try MessageFraming.makeEncoder().encode(value))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    guard let depth else { return }
    if needsComma { bytes.append(UInt8(ascii: "\n")) }
    indent(depth)
  }

  private mutating func indent(_ depth: Int) {
    for _ in 0..<max(0, depth) {
      bytes.append(UInt8(ascii: " "))
      bytes.append(UInt8(ascii: " "))
    }
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
