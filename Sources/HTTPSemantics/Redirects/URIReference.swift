/// A URI or relative reference in its five components (RFC 3986 §3), taken apart and put together without change.
package struct URIReference: Sendable, Equatable {
  package var scheme: String?
  package var authority: String?
  package var path: String
  package var query: String?
  package var fragment: String?

  /// Never fails: every string is some reference (RFC 3986 appendix B).
  package init(_ text: String) {
    var rest = text.utf8[...]
    if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
      fragment = String(Substring(rest[rest.index(after: hash)...]))
      rest = rest[..<hash]
    }
    if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
      query = String(Substring(rest[rest.index(after: mark)...]))
      rest = rest[..<mark]
    }
    if let end = rest.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }),
      rest[end] == UInt8(ascii: ":"), Self.isScheme(rest[..<end])
    {
      scheme = String(Substring(rest[..<end]))
      rest = rest[rest.index(after: end)...]
    }
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
      authority = String(Substring(rest[..<end]))
      rest = rest[end...]
    }
    path = String(Substring(rest))
  }

  /// RFC 3986 §5.3.
  package var text: String {
    var text = ""
    if let scheme { text += scheme + ":" }
    if let authority { text += "//" + authority }
    text += path
    if let query { text += "?" + query }
    if let fragment { text += "#" + fragment }
    return text
  }

  /// The URI that this reference means inside `base` (RFC 3986 §5.2.2, strict: a scheme makes it absolute).
  package func resolved(against base: URIReference) -> URIReference {
    var target = self
    if scheme != nil {
      target.path = Self.removingDotSegments(path)
      return target
    }
    target.scheme = base.scheme
    if authority != nil {
      target.path = Self.removingDotSegments(path)
      return target
    }
    target.authority = base.authority
    if path.isEmpty {
      target.path = base.path
      target.query = query ?? base.query
    } else if path.utf8.first == UInt8(ascii: "/") {
      target.path = Self.removingDotSegments(path)
    } else {
      target.path = Self.removingDotSegments(Self.merged(path, with: base))
    }
    return target
  }

  /// RFC 3986 §5.2.3.
  private static func merged(_ path: String, with base: URIReference) -> String {
    if base.authority != nil, base.path.isEmpty { return "/" + path }
    guard let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(base.path[...slash]) + path
  }

  /// RFC 3986 §5.2.4.
  package static func removingDotSegments(_ path: String) -> String {
    var input = Array(path.utf8)[...]
    var output: [UInt8] = []
    output.reserveCapacity(input.count)
    let slash = UInt8(ascii: "/")
    func removeLastSegment() {
      while let last = output.popLast(), last != slash {}
    }
    while !input.isEmpty {
      if input.starts(with: "../".utf8) {
        input = input.dropFirst(3)
      } else if input.starts(with: "./".utf8) || input.starts(with: "/./".utf8) {
        input = input.dropFirst(2)
      } else if input.elementsEqual("/.".utf8) {
        input = input.prefix(1)
      } else if input.starts(with: "/../".utf8) {
        input = input.dropFirst(3)
        removeLastSegment()
      } else if input.elementsEqual("/..".utf8) {
        input = input.prefix(1)
        removeLastSegment()
      } else if input.elementsEqual(".".utf8) || input.elementsEqual("..".utf8) {
        input = []
      } else {
        let end = input.dropFirst().firstIndex(of: slash) ?? input.endIndex
        output += input[..<end]
        input = input[end...]
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// RFC 3986 §3.1.
  private static func isScheme(_ bytes: Substring.UTF8View) -> Bool {
    guard let first = bytes.first, first.isLetter else { return false }
    return bytes.allSatisfy {
      $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
    }
  }
}

extension URIReference {
  /// The reference with every character that a URI may not hold percent-encoded, component by component.
  ///
  /// Servers put spaces, quotes and UTF-8 into Location as if it were typed by a person. A host in another script stays
  /// as it is: it needs IDNA, not percent signs.
  package var percentEncodingIllegalCharacters: URIReference {
    var legal = self
    legal.authority = authority.map { Self.encode($0, also: "[]@:", keepsNonASCII: true) }
    legal.path = Self.encode(path, also: ":@/")
    legal.query = query.map { Self.encode($0, also: ":@/?") }
    legal.fragment = fragment.map { Self.encode($0, also: ":@/?") }
    return legal
  }

  /// Keeps unreserved characters, sub-delims, well-formed percent-encodings (RFC 3986 §2) and those named.
  private static func encode(_ text: String, also extra: StaticString, keepsNonASCII: Bool = false) -> String {
    let allowed = Set(("-._~!$&'()*+,;=" + extra.description).utf8)
    let bytes = Array(text.utf8)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    for (index, byte) in bytes.enumerated() {
      let isEncoding = byte == UInt8(ascii: "%") && bytes[(index + 1)...].prefix(2).compactMap(\.hexValue).count == 2
      if byte.isLetter || byte.isDigit || allowed.contains(byte) || isEncoding || (keepsNonASCII && byte >= 0x80) {
        encoded.append(byte)
      } else {
        encoded.appendPercentEncoding(of: byte)
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
