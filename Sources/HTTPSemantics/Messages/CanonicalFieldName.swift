/// The usual spelling of well-known header field names.
///
/// HTTP/2 and many servers send names in lower case, while apps look up `Content-Type` in a case-sensitive dictionary.
package enum CanonicalFieldName {
  /// The spelling under which apps expect `name`; unknown names stay as they are.
  package static func spelling(of name: String) -> String {
    // Most names arrive in their usual spelling or in lower case: both are one lookup away.
    if let known = byLowercaseName[name] { return known }
    return byLowercaseName[name.lowercased()] ?? name
  }

  private static let byLowercaseName = Dictionary(
    uniqueKeysWithValues: names.map { ($0.lowercased(), $0) })

  private static let names = [
    "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Accept-Patch", "Accept-Post", "Accept-Ranges",
    "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
    "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Age", "Allow", "Alt-Svc",
    "Authentication-Info", "Authorization", "Cache-Control", "Connection", "Content-Disposition", "Content-Encoding",
    "Content-Language", "Content-Length", "Content-Location", "Content-MD5", "Content-Range",
    "Content-Security-Policy", "Content-Type", "Cookie", "Date", "ETag", "Expect", "Expires", "From", "Host",
    "If-Match",
    "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive", "Last-Modified", "Link",
    "Location", "Max-Forwards", "Origin", "P3P", "Pragma", "Proxy-Authenticate", "Proxy-Authentication-Info",
    "Proxy-Authorization", "Proxy-Connection", "Range", "Referer", "Referrer-Policy", "Refresh", "Retry-After",
    "Sec-WebSocket-Accept", "Sec-WebSocket-Extensions", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Version", "Server", "Server-Timing", "Set-Cookie", "Strict-Transport-Security", "TE",
    "Timing-Allow-Origin", "Trailer", "Transfer-Encoding", "Upgrade", "Upgrade-Insecure-Requests", "User-Agent", "Vary",
    "Via", "Warning", "WWW-Authenticate", "X-Content-Type-Options", "X-Forwarded-For", "X-Frame-Options",
    "X-Powered-By", "X-Requested-With", "X-XSS-Protection",
  ]
}
