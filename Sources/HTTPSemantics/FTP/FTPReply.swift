/// The answer of an FTP server (RFC 959 §4.2): three digits that mean something, and text for people.
package struct FTPReply: Sendable, Equatable {
  /// 100…599. The first digit says how far the server is, the second what it speaks of.
  package let code: Int
  /// The text of each line, without code and line end. A reply of several lines has several.
  package let lines: [[UInt8]]

  package init(code: Int, lines: [[UInt8]]) {
    self.code = code
    self.lines = lines
  }

  /// 1yz: it has begun, and another reply follows.
  package var isPreliminary: Bool { code / 100 == 1 }
  /// 2yz: it is done.
  package var isCompletion: Bool { code / 100 == 2 }

  /// Code and last line, for messages: in UTF-8, without control characters and a full stop, of bounded length.
  package var sentence: String {
    var bytes = (lines.last ?? []).prefix(200).filter { !$0.isControl }
    while bytes.last == UInt8(ascii: ".") || bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
    let text = String(decoding: bytes, as: UTF8.self)
    return text.isEmpty ? "\(code)" : "\(code) \(text)"
  }
}
