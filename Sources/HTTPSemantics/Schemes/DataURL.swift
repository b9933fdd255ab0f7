/// The content of a `data:` URL (RFC 2397), as browsers read it: the Fetch standard's "data: URL processor".
package struct DataURL: Sendable, Equatable {
  /// `text/plain;charset=US-ASCII` where the URL has none, or none that can be read.
  package var mediaType: MediaType
  package var bytes: [UInt8]

  package enum Malformation: Error, Sendable, Equatable, CaseIterable {
    case notADataURL
    case noComma
    case invalidBase64

    package var sentence: String {
      switch self {
      case .notADataURL: "The URL's scheme is not data."
      case .noComma: "The data URL has no comma between its media type and its data."
      case .invalidBase64: "The data URL says base64, but its data is not."
      }
    }
  }

  /// - Parameters:
  ///   - url: the whole URL. A fragment is not part of the data (RFC 3986 §3.5).
  ///   - escapesSpaces: Whether the text can't hold spaces and quotation marks, as that of a Foundation URL, so that
  ///     `%20` and `%22` in the media type stand for them. Elsewhere escapes before the comma mean themselves.
  package init(parsing url: String, escapesSpaces: Bool = false) throws(Malformation) {
    let scheme = Array("data:".utf8)
    let text = Array(url.utf8)
    guard text.count >= scheme.count, zip(text, scheme).allSatisfy({ $0.lowercased == $1 }) else { throw .notADataURL }
    let content = text[scheme.count...].prefix { $0 != UInt8(ascii: "#") }
    guard let comma = content.firstIndex(of: UInt8(ascii: ",")) else { throw .noComma }

    // A lenient percent-decoding never fails.
    bytes = percentDecoded(content[(comma + 1)...]) ?? []
    var header = content[..<comma]
    if escapesSpaces { header = DataURL.unescaped(header) }
    header = DataURL.trimmed(header)
    if let type = DataURL.withoutBase64(header) {
      header = type
      guard let decoded = Base64.decoded(bytes) else { throw .invalidBase64 }
      bytes = decoded
    }
    if header.first == UInt8(ascii: ";") { header = Array("text/plain".utf8) + header }
    mediaType = MediaType(standard: header) ?? DataURL.defaultType
  }

  private static let defaultType = MediaType(
    type: "text", subtype: "plain", parameters: FieldParameters([.init(name: "charset", value: "US-ASCII")]))

  /// The media type in front of `; base64`; nil without that. Spaces may stand before the word, and before the semicolon.
  private static func withoutBase64(_ header: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let word = Array("base64".utf8)
    guard header.count > word.count, zip(header.suffix(word.count), word).allSatisfy({ $0.lowercased == $1 }) else {
      return nil
    }
    var rest = header.dropLast(word.count)
    while rest.last == 0x20 { rest.removeLast() }
    return rest.last == UInt8(ascii: ";") ? rest.dropLast() : nil
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = bytes.drop { $0 == 0x20 }
    while rest.last == 0x20 { rest.removeLast() }
    return rest
  }

  private static func unescaped(_ header: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var plain: [UInt8] = []
    plain.reserveCapacity(header.count)
    var rest = header
    while let byte = rest.popFirst() {
      let isEscape = byte == UInt8(ascii: "%") && rest.first == UInt8(ascii: "2")
      switch isEscape ? rest.dropFirst().first : nil {
      case UInt8(ascii: "0"): plain.append(0x20)
      case UInt8(ascii: "2"): plain.append(UInt8(ascii: "\""))
      default:
        plain.append(byte)
        continue
      }
      rest = rest.dropFirst(2)
    }
    return plain[...]
  }
}
