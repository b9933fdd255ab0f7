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

  /// Whether both are one list in memory, and so the same byte for byte. That is known without a look at the fields; where it
  /// is false, the lists may still be equal.
  package func isIdentical(to other: HTTPFields) -> Bool {
    fields.withUnsafeBufferPointer { mine in
      other.fields.withUnsafeBufferPointer { mine.baseAddress == $0.baseAddress && mine.count == $0.count }
    }
  }

  package init(_ pairs: KeyValuePairs<String, String>) {
    fields = pairs.map { Field(name: $0.key, value: $0.value) }
  }

  /// All values of `name` joined with ", " (RFC 9110 §5.2), or nil when the field is absent.
  /// Setting replaces every field of that name with one, which keeps the spelling of the first; nil removes them.
  package subscript(name: String) -> String? {
    get {
      guard var index = firstIndex(of: name) else { return nil }
      var joined = fields[index].value
      while let next = firstIndex(of: name, from: index + 1) {
        // Grows in place: a server may repeat a name thousands of times.
        joined.append(", ")
        joined.append(fields[next].value)
        index = next
      }
      return joined
    }
    set {
      guard let newValue else { return remove(name) }
      guard let first = firstIndex(of: name) else { return append(name, newValue) }
      fields[first].value = newValue
      guard firstIndex(of: name, from: first + 1) != nil else { return }
      let rest = fields[(first + 1)...].filter { !asciiCaseInsensitiveEqual($0.name, name) }
      fields.replaceSubrange((first + 1)..., with: rest)
    }
  }

  /// The first field of that name at `start` or behind it. Asked dozens of times for every message: nothing is copied, and
  /// the lengths settle most.
  package func firstIndex(of name: String, from start: Int = 0) -> Int? {
    let length = name.utf8.count
    var index = start
    while index < fields.count {
      if fields[index].name.utf8.count == length, asciiCaseInsensitiveEqual(fields[index].name, name) { return index }
      index += 1
    }
    return nil
  }

  /// The number that Content-Length says, also when it says it several times. nil when it is absent, no number, or
  /// says different ones.
  package var contentLength: Int64? {
    var length: Int64?
    var start = 0
    while let index = firstIndex(of: "Content-Length", from: start) {
      start = index + 1
      let text = fields[index].value
      guard let value = Int64(decimalDigits: text.utf8) ?? Int64(decimalDigits: text.trimmingHTTPWhitespace().utf8),
        length ?? value == value
      else { return nil }
      length = value
    }
    return length
  }

  /// Every value of `name`, in order, not joined: the only right way to read Set-Cookie.
  package func values(_ name: String) -> [String] {
    guard var index = firstIndex(of: name) else { return [] }
    var values = [fields[index].value]
    while let next = firstIndex(of: name, from: index + 1) {
      values.append(fields[next].value)
      index = next
    }
    return values
  }

  package func contains(_ name: String) -> Bool { firstIndex(of: name) != nil }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  package mutating func remove(_ name: String) {
    guard contains(name) else { return }
    fields.removeAll { asciiCaseInsensitiveEqual($0.name, name) }
  }

  /// Whether the comma-separated list in `name` holds `token`, ASCII case ignored: `Connection: Close, TE`.
  package func hasToken(_ token: String, in name: String) -> Bool {
    var token = token
    return token.withUTF8 { token in
      var start = 0
      while let index = firstIndex(of: name, from: start) {
        start = index + 1
        var value = fields[index].value
        if value.withUTF8({ HTTPFields.hasToken(token, among: $0) }) { return true }
      }
      return false
    }
  }

  /// Asked several times for every message: the bytes are read where they are.
  private static func hasToken(_ token: UnsafeBufferPointer<UInt8>, among list: UnsafeBufferPointer<UInt8>) -> Bool {
    var start = 0
    while list.count - start >= token.count {
      var end = start
      while end < list.count, list[end] != UInt8(ascii: ",") { end += 1 }
      let next = end + 1
      while start < end, list[start].isHTTPWhitespace { start += 1 }
      while start < end, list[end - 1].isHTTPWhitespace { end -= 1 }
      if end - start == token.count,
        asciiCaseInsensitiveEqual(UnsafeBufferPointer(rebasing: list[start..<end]), token)
      {
        return true
      }
      start = next
    }
    return false
  }
}

/// As the one below, without the cost of functions for all kinds of strings.
package func asciiCaseInsensitiveEqual(_ left: String, _ right: String) -> Bool {
  guard left.utf8.count == right.utf8.count else { return false }
  var (left, right) = (left, right)
  return left.withUTF8 { left in right.withUTF8 { asciiCaseInsensitiveEqual(left, $0) } }
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
