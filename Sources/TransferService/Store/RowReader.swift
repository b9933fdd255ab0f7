import Foundation
import GRDB
import TransferProtocol

/// Reads the columns of a row one after the other, in the order in which the query names them. Without `Codable`, which
/// searches each column by its name: lists have thousands of rows.
struct RowReader {
  private let row: Row
  private var index = 0
  /// Of the values that were read as JSON.
  private(set) var bytesOfJSON = 0

  init(_ row: Row) { self.row = row }

  mutating func next<Value: DatabaseValueConvertible & StatementColumnConvertible>(
    _ type: Value.Type = Value.self
  ) throws -> Value {
    defer { index += 1 }
    return try row.decode(Value.self, atIndex: index)
  }

  mutating func optional<Value: DatabaseValueConvertible & StatementColumnConvertible>(
    _ type: Value.Type = Value.self
  ) throws -> Value? { try next(Value?.self) }

  /// A moment that is stored as seconds since 1970.
  mutating func date() throws -> Date { Date(timeIntervalSince1970: try next(Double.self)) }
  mutating func optionalDate() throws -> Date? { try optional(Double.self).map { Date(timeIntervalSince1970: $0) } }

  /// A value that is stored as JSON. Reading it never fails, as with `JSONStored`.
  mutating func json<Value: Decodable>(_ type: Value.Type = Value.self) -> Value? {
    data { try? MessageFraming.decode(Value.self, from: $0) }
  }

  /// The part of a description that a list shows; nil where it can't be read.
  mutating func outline() -> TransferOutline? { data { TransferOutline(descriptionJSON: $0) } }

  private mutating func data<Value>(_ read: (Data) -> Value?) -> Value? {
    defer { index += 1 }
    let value = try? row.withUnsafeData(atIndex: index) { json in
      bytesOfJSON += json?.count ?? 0
      return json.flatMap(read)
    }
    return value ?? nil
  }
}
