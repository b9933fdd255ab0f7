import Foundation

/// A value that is written as JSON, and read from it, without `Codable`: thousands of it are in one answer, or one is in each
/// event of thousands. The JSON is the same, byte by byte.
package protocol DirectJSON: Codable {
  func write(to writer: inout JSONWriter) throws
  init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit)
}

extension DirectJSON {
  /// nil: only `Codable` knows what it is.
  static func read(_ json: Data) -> Self? { JSONScanner.read(Self.self, from: json) }
}

extension String: DirectJSON {
  package func write(to writer: inout JSONWriter) { writer.string(self) }
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) { self = try scanner.string() }
}

extension Bool: DirectJSON {
  package func write(to writer: inout JSONWriter) { writer.plain(self ? "true" : "false") }
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) { self = try scanner.bool() }
}

extension DirectJSON where Self: FixedWidthInteger {
  package func write(to writer: inout JSONWriter) { writer.plain(description) }
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) { self = try scanner.integer(Self.self) }
}

extension Int: DirectJSON {}
extension Int64: DirectJSON {}
extension UInt: DirectJSON {}
extension UInt16: DirectJSON {}
extension UInt64: DirectJSON {}

extension Double: DirectJSON {
  package func write(to writer: inout JSONWriter) throws { try writer.number(self) }
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) { self = try scanner.number(Double.self) }
}

extension Float: DirectJSON {
  package func write(to writer: inout JSONWriter) throws { try writer.number(self) }
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) { self = try scanner.number(Float.self) }
}

/// As Base64.
extension Data: DirectJSON {
  package func write(to writer: inout JSONWriter) { writer.string(base64EncodedString()) }
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    guard let data = Data(base64Encoded: try scanner.string()) else { throw JSONScanner.Unfit() }
    self = data
  }
}

/// Seconds since 1970.
extension Date: DirectJSON {
  package func write(to writer: inout JSONWriter) throws { try writer.number(timeIntervalSince1970) }
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    self.init(timeIntervalSince1970: try scanner.number(Double.self))
  }
}

extension Array: DirectJSON where Element: DirectJSON {
  package func write(to writer: inout JSONWriter) throws { try writer.array(self) { try $1.write(to: &$0) } }
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) { self = try scanner.array() }
}

extension DirectJSON where Self: RawRepresentable, RawValue == String {
  package func write(to writer: inout JSONWriter) { writer.string(rawValue) }
}
