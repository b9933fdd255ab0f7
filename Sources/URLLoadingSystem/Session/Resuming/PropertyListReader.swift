import Foundation
import HTTPSemantics

/// Reads XML property lists that may have been made to do harm, as Apple's and the toolchain's encoders write them.
///
/// The toolchain's own parser is not given such bytes: it stops the process at a byte that is no UTF-8 inside a number,
/// and recurses once a nesting level. Nothing is believed here, and what is unusual is refused: other encodings and
/// formats, document types of its own, comments, dates, a key that comes twice, numbers that don't fit.
struct PropertyListReader {
  /// The error of a property list that is unreadable; there is no more to say about it.
  struct Unreadable: Error {}

  static let maximumLength = 4 * 1024 * 1024
  /// Resume data is five deep.
  static let maximumDepth = 16
  private static let maximumNumberLength = 400

  private let bytes: [UInt8]
  private var position = 0

  private init(_ data: Data) { bytes = Array(data) }

  static func decode<Value: Decodable>(_ data: Data, orThrow problem: some Error) throws -> Value {
    guard data.count <= maximumLength else { throw problem }
    do { return try PropertyListDecoder().decode(Value.self, from: canonical(data)) } catch { throw problem }
  }

  /// The value that `PropertyListSerialization` makes of `data`.
  static func plainValue(of data: Data) throws -> Any {
    guard data.count <= maximumLength else { throw Unreadable() }
    return try PropertyListSerialization.propertyList(from: canonical(data), format: nil)
  }

  /// The same property list as the toolchain's encoder writes it: only that reaches the toolchain's decoders.
  private static func canonical(_ data: Data) throws -> Data {
    var reader = PropertyListReader(data)
    let value = try reader.document()
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    return try encoder.encode(value)
  }

  // MARK: Structure

  private mutating func document() throws(Unreadable) -> PropertyListValue {
    guard take("<?xml version=\"1.0\" encoding=\"UTF-8\"?>") else { throw Unreadable() }
    skipWhitespace()
    if take("<!DOCTYPE plist PUBLIC \"") {
      let identifiers = try bytes(upTo: UInt8(ascii: ">"))
      guard !identifiers.contains(UInt8(ascii: "[")) else { throw Unreadable() }
      try expect(">")
      skipWhitespace()
    }
    guard take("<plist version=\"1.0\">") || take("<plist>") else { throw Unreadable() }
    let value = try value(depth: 0)
    skipWhitespace()
    try expect("</plist>")
    skipWhitespace()
    guard position == bytes.count else { throw Unreadable() }
    return value
  }

  private mutating func value(depth: Int) throws(Unreadable) -> PropertyListValue {
    guard depth <= PropertyListReader.maximumDepth else { throw Unreadable() }
    skipWhitespace()
    if take("<string>") { return .string(try text(endingWith: "</string>")) }
    if take("<string/>") { return .string("") }
    if take("<integer>") { return try integer() }
    if take("<data>") { return .data(try base64()) }
    if take("<data/>") { return .data(Data()) }
    if take("<dict>") { return .dictionary(try dictionary(depth: depth)) }
    if take("<dict/>") { return .dictionary([:]) }
    if take("<array>") { return .array(try array(depth: depth)) }
    if take("<array/>") { return .array([]) }
    if take("<true/>") { return .bool(true) }
    if take("<false/>") { return .bool(false) }
    if take("<real>") { return .real(try real()) }
    throw Unreadable()
  }

  private mutating func dictionary(depth: Int) throws(Unreadable) -> [String: PropertyListValue] {
    var values: [String: PropertyListValue] = [:]
    while true {
      skipWhitespace()
      if take("</dict>") { return values }
      try expect("<key>")
      let key = try text(endingWith: "</key>")
      guard values.updateValue(try value(depth: depth + 1), forKey: key) == nil else { throw Unreadable() }
    }
  }

  private mutating func array(depth: Int) throws(Unreadable) -> [PropertyListValue] {
    var values: [PropertyListValue] = []
    while true {
      skipWhitespace()
      if take("</array>") { return values }
      values.append(try value(depth: depth + 1))
    }
  }

  // MARK: Leaves

  private mutating func text(endingWith end: StaticString) throws(Unreadable) -> String {
    var text: [UInt8] = []
    while true {
      let start = position
      while position < bytes.count, bytes[position] != UInt8(ascii: "<"), bytes[position] != UInt8(ascii: "&") {
        position += 1
      }
      text += bytes[start..<position]
      if take("&") {
        text += try reference()
      } else {
        try expect(end)
        guard let text = String(validating: text, as: UTF8.self) else { throw Unreadable() }
        return text
      }
    }
  }

  /// The character that a name behind an ampersand stands for.
  private mutating func reference() throws(Unreadable) -> [UInt8] {
    if take("amp;") { return Array("&".utf8) }
    if take("lt;") { return Array("<".utf8) }
    if take("gt;") { return Array(">".utf8) }
    if take("quot;") { return Array("\"".utf8) }
    if take("apos;") { return Array("'".utf8) }
    try expect("#")
    let radix = take("x") ? 16 : 10
    let digits = try bytes(upTo: UInt8(ascii: ";"))
    try expect(";")
    // The initialiser from text would take a sign as well; a minus is out of range for it.
    guard digits.count <= 8, digits.first != UInt8(ascii: "+"),
      let number = UInt32(String(decoding: digits, as: UTF8.self), radix: radix), let scalar = Unicode.Scalar(number)
    else { throw Unreadable() }
    return Array(String(scalar).utf8)
  }

  private mutating func integer() throws(Unreadable) -> PropertyListValue {
    let digits = try number(endingWith: "</integer>") { $0.isDigit || $0 == UInt8(ascii: "-") }
    if let number = Int64(digits) { return .integer(number) }
    if let number = UInt64(digits) { return .unsigned(number) }
    throw Unreadable()
  }

  private mutating func real() throws(Unreadable) -> Double {
    let digits = try number(endingWith: "</real>") { $0.isDigit || "+-.eE".utf8.contains($0) }
    guard let number = Double(digits), number.isFinite else { throw Unreadable() }
    return number
  }

  private mutating func number(
    endingWith end: StaticString, of isAllowed: (UInt8) -> Bool
  ) throws(Unreadable) -> String {
    let digits = try bytes(upTo: UInt8(ascii: "<"))
    try expect(end)
    guard digits.count <= PropertyListReader.maximumNumberLength, digits.allSatisfy(isAllowed) else {
      throw Unreadable()
    }
    return String(decoding: digits, as: UTF8.self)
  }

  private mutating func base64() throws(Unreadable) -> Data {
    let text = try bytes(upTo: UInt8(ascii: "<")).filter { !$0.isPropertyListWhitespace }
    try expect("</data>")
    // The decoder itself takes padding in other places too.
    let digits = text.prefix { $0 != UInt8(ascii: "=") }
    guard text.dropFirst(digits.count).allSatisfy({ $0 == UInt8(ascii: "=") }), text.count - digits.count <= 2,
      let data = Data(base64Encoded: Data(text))
    else { throw Unreadable() }
    return data
  }

  // MARK: Bytes

  private mutating func take(_ word: StaticString) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count else { return false }
    let isThere = word.withUTF8Buffer { bytes[position..<end].elementsEqual($0) }
    if isThere { position = end }
    return isThere
  }

  private mutating func expect(_ word: StaticString) throws(Unreadable) {
    guard take(word) else { throw Unreadable() }
  }

  private mutating func bytes(upTo end: UInt8) throws(Unreadable) -> ArraySlice<UInt8> {
    guard let index = bytes[position...].firstIndex(of: end) else { throw Unreadable() }
    defer { position = index }
    return bytes[position..<index]
  }

  private mutating func skipWhitespace() {
    while position < bytes.count, bytes[position].isPropertyListWhitespace { position += 1 }
  }
}

/// The content of a property list.
private enum PropertyListValue: Encodable {
  case string(String)
  case integer(Int64)
  case unsigned(UInt64)
  case real(Double)
  case bool(Bool)
  case data(Data)
  case array([PropertyListValue])
  case dictionary([String: PropertyListValue])

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .string(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .real(let value): try container.encode(value)
    case .bool(let value): try container.encode(value)
    case .data(let value): try container.encode(value)
    case .array(let values): try container.encode(values)
    case .dictionary(let values): try container.encode(values)
    }
  }
}

extension UInt8 {
  fileprivate var isPropertyListWhitespace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
