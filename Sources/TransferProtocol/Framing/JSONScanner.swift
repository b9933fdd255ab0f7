import Foundation

/// Reads the JSON of a message from its first byte to its last, once.
///
/// It reads what our own programs write. At anything else it throws `Unfit`, and the bytes are read again by `Codable`, which
/// knows more, and says what is wrong. It looks at bytes of another program: none of them may make it do more than throw.
package struct JSONScanner {
  /// The bytes are not read here.
  package struct Unfit: Error { package init() {} }

  /// The name of a field. It is valid as long as the bytes are.
  package struct Name {
    fileprivate let bytes: UnsafeBufferPointer<UInt8>

    package static func ~= (pattern: StaticString, name: Name) -> Bool {
      guard name.bytes.count == pattern.utf8CodeUnitCount, let start = name.bytes.baseAddress else { return false }
      return memcmp(start, pattern.utf8Start, name.bytes.count) == 0
    }
  }

  private let bytes: UnsafeBufferPointer<UInt8>
  private var index = 0
  private var isFirst = false
  /// How many values may still be read by `Codable`: each takes the time of many bytes that are read here. A message that is made
  /// of little else is left to it as a whole, which is faster.
  private var codableReads: Int

  /// Reads all of `json` as one value. nil: it is not read here.
  static func read<Value: DirectJSON>(_ type: Value.Type, from json: Data) -> Value? {
    read(json) { scanner throws(Unfit) in try Value(from: &scanner) }
  }

  static func read<Value>(_ json: Data, _ value: (inout JSONScanner) throws(Unfit) -> Value) -> Value? {
    json.withUnsafeBytes { raw in
      var scanner = JSONScanner(bytes: raw.bindMemory(to: UInt8.self))
      do throws(Unfit) {
        let value = try value(&scanner)
        return scanner.nextByte() == nil ? value : nil
      } catch { return nil }
    }
  }

  private init(bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
    codableReads = 16 + bytes.count / 64
  }

  // MARK: Objects and arrays

  /// `nextName` follows until it is nil, and after each name its value, or `skip`.
  package mutating func openObject() throws(Unfit) {
    try take(UInt8(ascii: "{"))
    isFirst = true
  }

  package mutating func nextName() throws(Unfit) -> Name? {
    guard try !closes(UInt8(ascii: "}")) else { return nil }
    let name = try rawString()
    guard !name.isEscaped, name.isASCII else { throw Unfit() }
    try take(UInt8(ascii: ":"))
    isFirst = false
    return Name(bytes: UnsafeBufferPointer(rebasing: bytes[name.range]))
  }

  package mutating func array<Element: DirectJSON>(of type: Element.Type = Element.self) throws(Unfit) -> [Element] {
    try take(UInt8(ascii: "["))
    isFirst = true
    var elements: [Element] = []
    while try !closes(UInt8(ascii: "]")) {
      guard elements.count < MessageFraming.maximumListCount else { throw Unfit() }
      elements.append(try Element(from: &self))
      isFirst = false
    }
    return elements
  }

  /// Whether the object or array ends here; else the separator is taken.
  private mutating func closes(_ end: UInt8) throws(Unfit) -> Bool {
    if nextByte() == end {
      index += 1
      isFirst = false
      return true
    }
    if !isFirst { try take(UInt8(ascii: ",")) }
    return false
  }

  // MARK: Values

  package mutating func value<Value: DirectJSON>(_ type: Value.Type = Value.self) throws(Unfit) -> Value {
    try Value(from: &self)
  }

  /// nil for `null`.
  package mutating func optional<Value: DirectJSON>(_ type: Value.Type = Value.self) throws(Unfit) -> Value? {
    takesNull() ? nil : try Value(from: &self)
  }

  /// A value that is read by `Codable`, since it is rare or small. nil for `null`.
  package mutating func codable<Value: Decodable>(_ type: Value.Type = Value.self) throws(Unfit) -> Value? {
    if takesNull() { return nil }
    let range = try skip()
    try countCodableRead()
    do { return try JSONReader.decode(type, from: Data(bytes[range]), dates: .secondsSince1970) } catch {
      throw Unfit()
    }
  }

  /// The same bytes once more, from where `range` begins.
  func part(_ range: Range<Int>) -> JSONScanner {
    JSONScanner(bytes: UnsafeBufferPointer(rebasing: bytes[range]))
  }

  mutating func string() throws(Unfit) -> String { try text(of: rawString()) }

  private mutating func countCodableRead() throws(Unfit) {
    guard codableReads > 0 else { throw Unfit() }
    codableReads -= 1
  }

  private mutating func text(of string: RawString) throws(Unfit) -> String {
    if string.isEscaped {
      try countCodableRead()
      let literal = Data(bytes[string.range.lowerBound - 1..<string.range.upperBound + 1])
      do { return try JSONReader.decode(String.self, from: literal) } catch { throw Unfit() }
    }
    // ASCII is always valid. The generic function that validates takes longer.
    if string.isASCII { return String(decoding: UnsafeBufferPointer(rebasing: bytes[string.range]), as: UTF8.self) }
    guard let text = String(validating: bytes[string.range], as: UTF8.self) else { throw Unfit() }
    return text
  }

  mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws(Unfit) -> Value {
    let digits = bytes[try rawNumber()]
    guard let value = Value(Substring(decoding: digits, as: UTF8.self)) else { throw Unfit() }
    return value
  }

  mutating func number<Value: BinaryFloatingPoint & LosslessStringConvertible>(_ type: Value.Type) throws(Unfit)
    -> Value
  {
    let text = String(decoding: bytes[try rawNumber()], as: UTF8.self)
    guard let value = Value(text), value.isFinite else { throw Unfit() }
    return value
  }

  mutating func bool() throws(Unfit) -> Bool {
    if takes("true") { return true }
    guard takes("false") else { throw Unfit() }
    return false
  }

  private mutating func takesNull() -> Bool { takes("null") }

  /// Passes over a value of any kind, and says where it is.
  @discardableResult
  package mutating func skip() throws(Unfit) -> Range<Int> {
    _ = nextByte()
    let start = index
    try skip(depth: 0)
    return start..<index
  }

  private mutating func skip(depth: Int) throws(Unfit) {
    guard depth < JSONReader.maximumDepth else { throw Unfit() }
    switch nextByte() {
    case UInt8(ascii: "{"):
      try openObject()
      while try nextName() != nil { try skip(depth: depth + 1) }
    case UInt8(ascii: "["):
      try take(UInt8(ascii: "["))
      isFirst = true
      while try !closes(UInt8(ascii: "]")) {
        try skip(depth: depth + 1)
        isFirst = false
      }
    case UInt8(ascii: "\""):
      try check(rawString())
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      guard takes("true") || takes("false") || takes("null") else { throw Unfit() }
    default: _ = try rawNumber()
    }
  }

  /// Throws where it is not the text of a string. No `String` is made of its escapes.
  private func check(_ string: RawString) throws(Unfit) {
    if !string.isASCII, String(validating: bytes[string.range], as: UTF8.self) == nil { throw Unfit() }
    guard string.isEscaped else { return }
    var rest = bytes[string.range]
    while let start = rest.firstIndex(of: UInt8(ascii: "\\")) {
      rest = rest[(start + 1)...]
      switch rest.popFirst() {
      case UInt8(ascii: "u"):
        let digits = rest.prefix(4)
        // Halves of a pair are left to `Codable`.
        guard digits.count == 4, digits.allSatisfy(Self.isHexDigit),
          digits.first.map({ $0 | 0x20 }) != UInt8(ascii: "d")
        else { throw Unfit() }
        rest = rest.dropFirst(4)
      case let byte? where #""\/bfnrt"#.utf8.contains(byte): break
      default: throw Unfit()
      }
    }
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  // MARK: Bytes

  /// The next one that is no white space.
  private mutating func nextByte() -> UInt8? {
    while index < bytes.count {
      switch bytes[index] {
      case 0x20, 0x09, 0x0A, 0x0D: index += 1
      default: return bytes[index]
      }
    }
    return nil
  }

  private mutating func take(_ byte: UInt8) throws(Unfit) {
    guard nextByte() == byte else { throw Unfit() }
    index += 1
  }

  private mutating func takes(_ word: StaticString) -> Bool {
    guard nextByte() != nil, bytes.count - index >= word.utf8CodeUnitCount, let start = bytes.baseAddress,
      memcmp(start + index, word.utf8Start, word.utf8CodeUnitCount) == 0
    else { return false }
    index += word.utf8CodeUnitCount
    return true
  }

  /// The bytes between quotation marks.
  private struct RawString {
    var range: Range<Int>
    var isEscaped = false
    var isASCII = true
  }

  private mutating func rawString() throws(Unfit) -> RawString {
    try take(UInt8(ascii: "\""))
    var string = RawString(range: index..<index)
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        string.range = string.range.lowerBound..<index
        index += 1
        return string
      case UInt8(ascii: "\\"):
        string.isEscaped = true
        index += 2
      case 0..<0x20: throw Unfit()
      case 0x80...:
        string.isASCII = false
        index += 1
      default: index += 1
      }
    }
    throw Unfit()
  }

  /// The place of a number, as RFC 8259 §6 has it.
  private mutating func rawNumber() throws(Unfit) -> Range<Int> {
    guard let first = nextByte() else { throw Unfit() }
    let start = index
    if first == UInt8(ascii: "-") { index += 1 }
    let digits = index
    try takeDigits()
    // No digit follows a zero at its beginning.
    guard index == digits + 1 || bytes[digits] != UInt8(ascii: "0") else { throw Unfit() }
    if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
      index += 1
      try takeDigits()
    }
    if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
      // Foundation refuses `0e5`.
      guard bytes[index - 1] != UInt8(ascii: "0") || index > digits + 1 else { throw Unfit() }
      index += 1
      if index < bytes.count, [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(bytes[index]) { index += 1 }
      try takeDigits()
    }
    return start..<index
  }

  /// At least one.
  private mutating func takeDigits() throws(Unfit) {
    let start = index
    while index < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) { index += 1 }
    guard index > start else { throw Unfit() }
  }
}
