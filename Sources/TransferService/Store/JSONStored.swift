import Foundation
import TransferProtocol

/// A column that holds a value as JSON. Reading it never fails: unreadable JSON is nil, which concerns this column
/// only, not the row or the rows that are read with it.
@propertyWrapper
package struct JSONStored<Value: Codable & Sendable & Equatable>: Decodable, Sendable, Equatable {
  package var wrappedValue: Value?

  package init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

  package init(from decoder: any Decoder) throws {
    let json = try? decoder.singleValueContainer().decode(Data.self)
    wrappedValue = json.flatMap { try? MessageFraming.decode(Value.self, from: $0) }
  }

  /// The content of such a column.
  static func encode(_ value: Value?) throws -> Data? { try value.map { try MessageFraming.encode($0) } }
}
