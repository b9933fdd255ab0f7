import Foundation

/// ws and wss URLs are http and https URLs until the handshake is done (RFC 6455 §3): to cookies, credentials,
/// redirects and connections they are the same. The app sees ws and wss.
enum WebSocketURL {
  /// nil unless `url` is a ws or wss URL. RFC 6455 §3: fragments mean nothing there and are not sent.
  static func http(_ url: URL) -> URL? {
    switch url.scheme?.lowercased() {
    case "ws", "wss": URL(string: httpText(url.absoluteString))
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
}
