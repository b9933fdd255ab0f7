import Foundation

/// The contents of the blocks of one kind in a PEM text (RFC 7468). Text around them is passed over, and so are blocks
/// that are no base64: one bad entry must not hide a whole store.
struct PEMBlocks: Sequence {
  private let contents: [Data]

  init(of label: String, in pem: Data) {
    var contents: [Data] = []
    let begin = Data("-----BEGIN \(label)-----".utf8)
    let end = Data("-----END \(label)-----".utf8)
    var rest = pem[...]
    while let start = rest.range(of: begin), let stop = rest[start.upperBound...].range(of: end) {
      let text = rest[start.upperBound..<stop.lowerBound]
      if let content = Data(base64Encoded: Data(text), options: .ignoreUnknownCharacters), !content.isEmpty {
        contents.append(content)
      }
      rest = rest[stop.upperBound...]
    }
    self.contents = contents
  }

  func makeIterator() -> IndexingIterator<[Data]> { contents.makeIterator() }
}
