extension HTTPOrigin {
  /// Why `text` is the URL of no origin, as the end of a sentence about it.
  package static func fault(of text: String) -> String {
    let url = URIReference(text)
    guard let scheme = url.scheme?.asciiLowercased(), scheme == "http" || scheme == "https" else {
      return "which is no http or https URL"
    }
    var authority = (url.authority ?? "").utf8[...]
    if let sign = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[authority.index(after: sign)...] }
    guard let first = authority.first, first != UInt8(ascii: ":") else { return "which names no host" }
    guard first != UInt8(ascii: "["), let colon = authority.lastIndex(of: UInt8(ascii: ":")) else {
      return "whose host can't be read"
    }
    return "whose port, \(Substring(authority[authority.index(after: colon)...])), is not a number up to 65535"
  }
}
