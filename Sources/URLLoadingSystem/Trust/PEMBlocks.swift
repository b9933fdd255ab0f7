import Foundation

/// The contents of the blocks of one kind in a PEM text (RFC 7468). Text around them is passed over, and so are blocks
/// that are no base64: one bad entry must not hide a whole store.
struct PEMBlocks: Sequence {
  private let contents: [Data]

  init(of label: String, in pem: Data) {
    let begin = Array("-----BEGIN \(label)-----".utf8)
    let end = Array("-----END \(label)-----".utf8)
    contents = pem.withUnsafeBytes { text in
      var contents: [Data] = []
      var position = 0
      while let start = PEMBlocks.range(of: begin, in: text, from: position),
        let stop = PEMBlocks.range(of: end, in: text, from: start.upperBound)
      {
        let encoded = Data(UnsafeRawBufferPointer(rebasing: text[start.upperBound..<stop.lowerBound]))
        if let content = Data(base64Encoded: encoded, options: .ignoreUnknownCharacters), !content.isEmpty {
          contents.append(content)
        }
        position = stop.upperBound
      }
      return contents
    }
  }

  /// The next place of `pattern`, which begins with a hyphen, as no base64 does. `Data.range(of:)` would copy all that is left
  /// of a bundle for each block.
  private static func range(of pattern: [UInt8], in text: UnsafeRawBufferPointer, from start: Int) -> Range<Int>? {
    guard let base = text.baseAddress else { return nil }
    var position = start
    while position + pattern.count <= text.count,
      let hyphen = memchr(base + position, CInt(UInt8(ascii: "-")), text.count - position)
    {
      position = UnsafeRawPointer(hyphen) - base
      let end = position + pattern.count
      guard end <= text.count else { return nil }
      if memcmp(hyphen, pattern, pattern.count) == 0 { return position..<end }
      position += 1
    }
    return nil
  }

  func makeIterator() -> IndexingIterator<[Data]> { contents.makeIterator() }
}
