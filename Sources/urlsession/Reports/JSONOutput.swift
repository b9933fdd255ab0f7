import Foundation

/// One JSON document on standard output.
enum JSONOutput {
  static func print(_ value: some Encodable) throws { StandardOutput.print(try text(value)) }

  /// Keys in alphabetical order, dates as in RFC 3339.
  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// On one line, as events of the web page are.
  static func line(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return Array(try encoder.encode(value))
  }
}
