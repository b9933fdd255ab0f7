import HTTPSemantics

/// Turns the bytes of a field's value, or of a reason phrase, into a string.
enum HTTP1FieldText {
  /// The text without whitespace at either end. nil when it holds a control character other than a tab: a bare CR or
  /// a NUL among them (RFC 9110 §5.5).
  static func string(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> String? {
    var start = start
    var end = end
    while start < end, bytes[start].isHTTPWhitespace { start += 1 }
    while end > start, bytes[end - 1].isHTTPWhitespace { end -= 1 }
    guard start < end else { return "" }
    let text = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    switch classify(text) {
    case .ascii: return String(decoding: text, as: UTF8.self)
    case .beyondASCII: return decodeBeyondASCII(text)
    case .hasControl: return nil
    }
  }

  private enum Content { case ascii, beyondASCII, hasControl }

  /// Looks at eight bytes at a time, and one by one at those eight that are not all plain.
  private static func classify(_ text: UnsafeRawBufferPointer) -> Content {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs = ones << 7
    var content = Content.ascii
    var index = 0
    while index < text.count {
      let end = min(index + 8, text.count)
      if end - index == 8 {
        let word = text.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let belowSpace = (word &- ones &* 0x20) & ~word
        let notDelete = word ^ (ones &* 0x7F)
        let isDelete = (notDelete &- ones) & ~notDelete
        if (word | belowSpace | isDelete) & highs == 0 {
          index = end
          continue
        }
      }
      while index < end {
        let byte = text[index]
        if byte.isControl && byte != 0x09 { return .hasControl }
        if byte >= 0x80 { content = .beyondASCII }
        index += 1
      }
    }
    return content
  }

  /// UTF-8 where it is that; else ISO-8859-1, which RFC 9110 §5.5 speaks of as the historical encoding.
  private static func decodeBeyondASCII(_ text: UnsafeRawBufferPointer) -> String {
    String(validating: text, as: UTF8.self) ?? String(decoding: text.map(UInt16.init), as: UTF16.self)
  }
}
