extension KeyedDecodingContainer {
  /// A list of `MessageFraming.maximumListCount` elements at most. It is counted before its elements are decoded, which
  /// take many times the bytes that they have in a message.
  func decodeList<Element: Decodable>(of type: Element.Type, forKey key: Key) throws -> [Element] {
    if let count = try nestedUnkeyedContainer(forKey: key).count, count > MessageFraming.maximumListCount {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self,
        debugDescription: "a list of \(count) elements; the limit is \(MessageFraming.maximumListCount)")
    }
    return try decode([Element].self, forKey: key)
  }
}
