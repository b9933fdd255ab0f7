/// Takes numbers, names and bytes from the front of DNS data (RFC 1035 §3). Every read is nil where the data is too short.
struct DNSReader {
  private var rest: ArraySlice<UInt8>

  init(_ data: ArraySlice<UInt8>) { rest = data }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  mutating func number() -> UInt16? {
    bytes(2).map { $0.reduce(0) { $0 << 8 | UInt16($1) } }
  }

  mutating func longNumber() -> UInt32? {
    bytes(4).map { $0.reduce(0) { $0 << 8 | UInt32($1) } }
  }

  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  /// A name in lower case, without the last dot; empty for the root. Bytes that no host's name has are written as three
  /// digits behind a backslash (§5.1). Compressed names are refused, as RFC 9460 §2.2 has none.
  mutating func name() -> String? {
    var labels: [String] = []
    var length = 0
    while let count = byte() {
      guard count > 0 else { return labels.joined(separator: ".") }
      length += Int(count) + 1
      guard count < 64, length < 255, let label = bytes(Int(count)) else { return nil }
      labels.append(label.map { DNSReader.text($0) }.joined())
    }
    return nil
  }

  private static func text(_ byte: UInt8) -> String {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): String(UnicodeScalar(byte | 0x20))
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      String(UnicodeScalar(byte))
    default: "\\" + (byte < 10 ? "00" : byte < 100 ? "0" : "") + String(byte)
    }
  }
}
