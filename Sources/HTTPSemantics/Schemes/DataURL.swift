/// The content of a `data:` URL (RFC 2397).
package struct DataURL: Sendable, Equatable {
  /// As written, or `text/plain` when there is none. RFC 2397 §2 then means US-ASCII; as on Apple's systems no charset
  /// is made of that, since what is there says none.
  package var mediaType: MediaType
  package var bytes: [UInt8]

  package enum Malformation: Error, Sendable, Equatable, CaseIterable {
    case notADataURL
    case noComma
    case invalidBase64
    case invalidMediaType

    package var sentence: String {
      switch self {
      case .notADataURL: "The URL's scheme is not data."
      case .noComma: "The data URL has no comma between its media type and its data."
      case .invalidBase64: "The data URL says base64, but its data is not."
      case .invalidMediaType: "What the data URL says before its comma is no media type."
      }
    }
  }

  /// - Parameter url: the whole URL. A fragment is not part of the data (RFC 3986 §3.5).
  package init(parsing url: String) throws(Malformation) {
    let prefix = "data:"
    guard asciiCaseInsensitiveEqual(url.utf8.prefix(prefix.utf8.count).asString, prefix) else { throw .notADataURL }
    let content = url.utf8.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "#") }
    guard let comma = content.firstIndex(of: UInt8(ascii: ",")) else { throw .noComma }

    // A lenient percent-decoding never fails.
    let data = percentDecoded(content[content.index(after: comma)...]) ?? []
    var header = content[..<comma].asString.trimmingHTTPWhitespace()
    if let semicolon = header.lastIndex(of: ";"),
      asciiCaseInsensitiveEqual(header[header.index(after: semicolon)...].trimmingHTTPWhitespace(), "base64")
    {
      header = header[..<semicolon].trimmingHTTPWhitespace()
      guard let decoded = Base64.decoded(data) else { throw .invalidBase64 }
      bytes = decoded
    } else {
      bytes = data
    }
    if header.isEmpty || header.hasPrefix(";") { header = "text/plain" + header }
    let decodedHeader = String(decoding: percentDecoded(header.utf8) ?? [], as: UTF8.self)
    guard let type = MediaType(parsing: decodedHeader) ?? MediaType(parsing: header) else { throw .invalidMediaType }
    mediaType = type
  }
}

extension Substring.UTF8View {
  fileprivate var asString: String { String(Substring(self)) }
}
