import Foundation

/// ws and wss URLs are http and https URLs until the handshake is done (RFC 6455 §3): to cookies, credentials,
/// redirects and connections they are the same. The app sees ws and wss.
enum WebSocketURL {
  /// The URL that the handshake goes to. An http or https URL stays as it is: code for Apple's systems gives those, too.
  /// nil for all other schemes. RFC 6455 §3: fragments mean nothing there and are not sent.
  static func http(_ url: URL) -> URL? {
    switch url.scheme?.lowercased() {
    case "ws", "wss": URL(string: httpText(url.absoluteString))
    case "http", "https": url
    default: nil
    }
  }

  /// `ws:` becomes `http:`, `wss:` becomes `https:`; any other text stays as it is.
  static func httpText(_ text: String) -> String {
    let lower = text.prefix(4).lowercased()
    if lower.hasPrefix("ws:") { return "http" + text.dropFirst(2) }
    if lower == "wss:" { return "https" + text.dropFirst(3) }
    return text
  }

  /// The way back: `http:` becomes `ws:`, `https:` becomes `wss:`; any other URL stays as it is.
  static func webSocket(_ url: URL) -> URL {
    let text = url.absoluteString
    let scheme = url.scheme?.lowercased()
    guard scheme == "http" || scheme == "https" else { return url }
    return URL(string: (scheme == "http" ? "ws" : "wss") + text.dropFirst(scheme == "http" ? 4 : 5)) ?? url
  }

  /// The error with the ws or wss URL that the app knows in place of the pipeline's.
  static func namingWebSocket(in error: URLError, orElse url: URL) -> URLError {
    var userInfo = error.userInfo
    let failing = (userInfo[NSURLErrorFailingURLErrorKey] as? URL).map { webSocket($0) } ?? url.withoutPassword
    userInfo[NSURLErrorFailingURLErrorKey] = failing
    userInfo["NSErrorFailingURLStringKey"] = failing.absoluteString
    return URLError(error.code, userInfo: userInfo)
  }
}

extension URLRequest {
  var withWebSocketURL: URLRequest {
    var request = self
    request.url = url.map { WebSocketURL.webSocket($0) }
    return request
  }

  var withHTTPURL: URLRequest {
    var request = self
    if let url, let http = WebSocketURL.http(url) { request.url = http }
    return request
  }
}
