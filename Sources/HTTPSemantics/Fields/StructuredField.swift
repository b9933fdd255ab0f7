import RawStructuredFieldValues

/// Reads structured fields (RFC 9651) of the kinds that uploads need. Parameters are allowed and ignored.
package enum StructuredField {
  /// The value of a field that holds one boolean; nil for any other text.
  package static func boolean(_ text: String) -> Bool? {
    guard case .bool(let value) = item(text) else { return nil }
    return value
  }

  /// The value of a field that holds one integer of 0 or more; nil for any other text. Sizes and offsets are such.
  package static func size(_ text: String) -> Int64? { size(item(text)) }

  /// The members of a dictionary whose values are integers of 0 or more. Of a repeated key the last value counts.
  /// nil when the text is no dictionary.
  package static func sizes(_ text: String) -> [String: Int64]? {
    var parser = StructuredFieldValueParser(Array(text.utf8))
    guard let members = try? parser.parseDictionaryFieldValue() else { return nil }
    var sizes: [String: Int64] = [:]
    for (key, value) in members {
      if case .item(let item) = value { sizes[key] = size(item.rfc9651BareItem) }
    }
    return sizes
  }

  private static func item(_ text: String) -> RFC9651BareItem? {
    var parser = StructuredFieldValueParser(Array(text.utf8))
    return try? parser.parseItemFieldValue().rfc9651BareItem
  }

  private static func size(_ item: RFC9651BareItem?) -> Int64? {
    guard case .integer(let value) = item, value >= 0 else { return nil }
    return value
  }
}
