/// The header or trailer fields of one HTTP message: an ordered list in which a name may repeat.
///
/// Names keep the spelling they arrived with and compare without regard to ASCII case (RFC 9110 §5.1).
/// Lookup is linear: a message has a dozen fields, and a hash table would cost more than it saves.
package struct HTTPFields: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package var name: String
    package var value: String

    @inlinable
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  package var fields: [Field]

  package init() { fields = [] }

  package init(_ fields: [Field]) { self.fields = fields }

  package init(_ pairs: KeyValuePairs<String, String>) {
    fields = pairs.map { Field(name: $0.key, value: $0.value) }
  }

  /// All values of `name` joined with ", " (RFC 9110 §5.2), or nil when the field is absent.
  /// Setting replaces every field of that name with one, which keeps the spelling of the first; nil removes them.
  package subscript(name: String) -> String? {
    get {
      var joined: String?
      for field in fields where asciiCaseInsensitiveEqual(field.name, name) {
        if joined == nil {
          joined = field.value
        } else {
          // Grows in place: a server may repeat a name thousands of times.
          joined?.append(", ")
          joined?.append(field.value)
        }
      }
      return joined
    }
    set {
      guard let newValue else { return remove(name) }
      guard let first = fields.firstIndex(where: { asciiCaseInsensitiveEqual($0.name, name) }) else {
        return append(name, newValue)
      }
      fields[first].value = newValue
      var index = first + 1
      while index < fields.count {
        if asciiCaseInsensitiveEqual(fields[index].name, name) {
          fields.remove(at: index)
        } else {
          index += 1
        }
      }
    }
  }

  /// The number that Content-Length says, also when it says it several times. nil when it is absent, no number, or
  /// says different ones.
  package var contentLength: Int64? {
    var length: Int64?
    for field in fields where asciiCaseInsensitiveEqual(field.name, "Content-Length") {
      guard let value = Int64(decimalDigits: field.value.trimmingHTTPWhitespace().utf8), length ?? value == value else {
        return nil
      }
      length = value
    }
    return length
  }

  /// Every value of `name`, in order, not joined: the only right way to read Set-Cookie.
  package func values(_ name: String) -> [String] {
    fields.compactMap { asciiCaseInsensitiveEqual($0.name, name) ? $0.value : nil }
  }

  package func contains(_ name: String) -> Bool {
    fields.contains { asciiCaseInsensitiveEqual($0.name, name) }
  }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  package mutating func remove(_ name: String) {
    fields.removeAll { asciiCaseInsensitiveEqual($0.name, name) }
  }

  /// Whether the comma-separated list in `name` holds `token`, ASCII case ignored: `Connection: Close, TE`.
  package func hasToken(_ token: String, in name: String) -> Bool {
    for field in fields where asciiCaseInsensitiveEqual(field.name, name) {
      // Asked several times for every message: nothing is copied.
      var rest = field.value.utf8[...]
      while rest.count >= token.utf8.count {
        let comma = rest.firstIndex(of: UInt8(ascii: ","))
        var member = rest[..<(comma ?? rest.endIndex)]
        while let first = member.first, first.isHTTPWhitespace { member.removeFirst() }
        while let last = member.last, last.isHTTPWhitespace { member.removeLast() }
        if asciiCaseInsensitiveEqual(Substring(member), token) { return true }
        guard let comma else { break }
        rest = rest[rest.index(after: comma)...]
      }
    }
    return false
  }
}

/// Compares two strings byte by byte, taking A–Z and a–z as equal.
package func asciiCaseInsensitiveEqual(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
  let left = left.utf8
  let right = right.utf8
  guard left.count == right.count else { return false }
  let answer = left.withContiguousStorageIfAvailable { left in
    right.withContiguousStorageIfAvailable { right in asciiCaseInsensitiveEqual(left, right) }
  }
  // A string that is not stored in one piece.
  return (answer ?? nil) ?? zip(left, right).allSatisfy(asciiCaseInsensitiveEqual)
}

private func asciiCaseInsensitiveEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool
{
  for index in left.indices where !asciiCaseInsensitiveEqual(left[index], right[index]) { return false }
  return true
}

private func asciiCaseInsensitiveEqual(_ left: UInt8, _ right: UInt8) -> Bool {
  left == right || (left | 0x20 == right | 0x20 && (0x61...0x7a).contains(left | 0x20))
}

extension StringProtocol {
  /// The string without the optional whitespace of RFC 9110 §5.6.3 (space and tab) at either end.
  package func trimmingHTTPWhitespace() -> String {
    let bytes = utf8
    guard let first = bytes.firstIndex(where: { !$0.isHTTPWhitespace }) else { return "" }
    var end = first
    var index = first
    while index != bytes.endIndex {
      let isText = !bytes[index].isHTTPWhitespace
      bytes.formIndex(after: &index)
      if isText { end = index }
    }
    return String(self[first..<end])
  }
}
