import Foundation

/// How messages are laid on the byte stream: four bytes of length, most significant first, then that many bytes of
/// JSON in UTF-8. A length of zero or above `maximumLength` is an error that ends the connection.
package enum MessageFraming {
  package static let maximumLength = 16 * 1024 * 1024
  /// How many tasks, transfers or events one request may name.
  package static let maximumListCount = 10_000
  static let prefixLength = 4

  /// The frame of one message.
  package static func frame(_ message: some Encodable) throws -> Data {
    if let message = message as? any DirectJSON { return try frame(payload: try directly(message)) }
    return try frame(payload: try makeEncoder().encode(message))
  }

  private static func frame(payload: some RandomAccessCollection<UInt8>) throws -> Data {
    guard payload.count <= maximumLength else { throw MessageFramingError.tooLong(payload.count) }
    var frame = Data(capacity: prefixLength + payload.count)
    withUnsafeBytes(of: UInt32(payload.count).bigEndian) { frame.append(contentsOf: $0) }
    frame.append(contentsOf: payload)
    return frame
  }

  /// The JSON of a value: dates as seconds since 1970, binary data as Base64, keys in a stable order.
  package static func encode(_ value: some Encodable) throws -> Data {
    if let value = value as? any DirectJSON { return Data(try directly(value)) }
    return try makeEncoder().encode(value)
  }

  private static func directly(_ value: some DirectJSON) throws -> [UInt8] {
    var writer = JSONWriter()
    try value.write(to: &writer)
    return writer.bytes
  }

  /// The same for many values: one encoder serves them all.
  package static func encode(each values: some Sequence<some Encodable>) throws -> [Data] {
    let encoder = makeEncoder()
    return try values.map { value in
      if let value = value as? any DirectJSON { return Data(try directly(value)) }
      return try encoder.encode(value)
    }
  }

  /// By `Codable` alone.
  static func makeEncoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  package static func decode<Value: Decodable>(_ type: Value.Type, from json: Data) throws -> Value {
    if let direct = type as? any DirectJSON.Type, let value = direct.read(json) as? Value { return value }
    return try JSONReader.decode(type, from: json, dates: .secondsSince1970)
  }
}

/// Why a byte stream is not a stream of messages. The connection it came from can't be used any further.
package enum MessageFramingError: Error, Sendable, Equatable, CustomStringConvertible {
  case empty
  case tooLong(Int)
  /// Longer than a message may be at this place of the stream.
  case aboveLimit(Int, limit: Int)
  case notAMessage(String)

  package var description: String {
    switch self {
    case .empty: "a message without content"
    case .tooLong(let count): "a message of \(count) bytes; the limit is \(MessageFraming.maximumLength)"
    case .aboveLimit(let count, let limit): "a message of \(count) bytes, where \(limit) are the limit"
    case .notAMessage(let reason): "bytes that are no message: \(reason)"
    }
  }
}
