import HTTPSemantics

/// The first line of a response: `HTTP/1.1 200 OK` (RFC 9112 §4). Read strictly, except that the reason phrase may be
/// missing together with the space before it.
struct HTTP1StatusLine {
  var version = HTTPVersion.http11
  var status = 0
  var reason = ""

  init() {}

  init(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) throws(HTTP1ParseError) {
    // "HTTP/1.1 200": eight characters of version, a space, three digits.
    let length = end - start
    guard Self.canBegin(bytes, from: start, to: end), length >= 12 else { throw .invalidStatusLine }
    let major = bytes[start + 5]
    let minor = bytes[start + 7]
    guard major.isDigit, bytes[start + 6] == UInt8(ascii: "."), minor.isDigit, bytes[start + 8] == 0x20 else {
      throw .invalidStatusLine
    }
    let first = bytes[start + 9]
    let second = bytes[start + 10]
    let third = bytes[start + 11]
    guard first.isDigit, second.isDigit, third.isDigit, first != UInt8(ascii: "0") else { throw .invalidStatusLine }
    if length > 12 {
      guard bytes[start + 12] == 0x20, let text = HTTP1FieldText.string(bytes, from: start + 13, to: end) else {
        throw .invalidStatusLine
      }
      reason = text
    }
    // RFC 9112 §2.3: HTTP/1.2 would be readable as HTTP/1.1; another major version has other messages.
    guard major == UInt8(ascii: "1") else { throw .unsupportedVersion }
    version = HTTPVersion(major: 1, minor: Int(minor &- 0x30))
    status = Int(first &- 0x30) * 100 + Int(second &- 0x30) * 10 + Int(third &- 0x30)
  }

  /// Whether bytes that may be only a part of a line can be the beginning of a status line: what a server of another
  /// protocol says first is refused at once, not when a line end comes.
  static func canBegin(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Bool {
    bytes[start..<min(end, start + 5)].elementsEqual("HTTP/".utf8.prefix(end - start))
  }
}
