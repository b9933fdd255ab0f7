/// The secure counterpart of an insecure URL (RFC 6797 §8.3).
struct HSTSUpgrade: Sendable, Equatable {
  let host: String
  let url: URIReference

  /// nil unless the URL is of http, or of ws, which opens with an HTTP request and for which browsers do the same.
  init?(_ url: URIReference) {
    let isWebSocket: Bool
    switch url.scheme?.asciiLowercased() {
    case "http": isWebSocket = false
    case "ws": isWebSocket = true
    default: return nil
    }
    var insecure = url
    insecure.scheme = "http"
    guard let authority = url.authority, let origin = HTTPOrigin(insecure) else { return nil }
    host = origin.host
    var secure = url
    secure.scheme = isWebSocket ? "wss" : "https"
    // §8.3: port 80 becomes 443, which is the default and is left out; other ports stay. A host in brackets is an
    // address, for which nothing is known.
    if origin.port == 80, let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")),
      authority.utf8[authority.utf8.index(after: colon)...].allSatisfy(\.isDigit)
    {
      secure.authority = String(authority[..<colon])
    }
    self.url = secure
  }
}
