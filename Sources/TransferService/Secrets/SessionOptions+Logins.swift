import TransferProtocol
import URLLoadingSystem

extension SessionOptions {
  /// As the queue may hold them: without the user names and passwords of proxies, in whatever form they are there.
  var withoutLogins: SessionOptions {
    var options = self
    options.connectionProxyDictionary = connectionProxyDictionary.map { SessionOptions.withoutLogin(dictionary: $0) }
    if let proxies = proxyConfigurations {
      options.proxyConfigurations = proxies.map {
        var proxy = $0
        proxy.credential = nil
        if case .url(let url) = proxy.endpoint { proxy.endpoint = .url(SessionOptions.withoutLogin(url)) }
        return proxy
      }
    }
    options.proxyEnvironment = proxyEnvironment?.mapValues { SessionOptions.withoutLogin($0) }
    return options
  }

  /// The same text where it holds no login.
  private static func withoutLogin(dictionary text: String) -> String {
    guard var dictionary = ProxyDictionaryText.dictionary(text) else { return text }
    var isChanged = false
    for key in [kCFProxyUsernameKey, kCFProxyPasswordKey] where dictionary.removeValue(forKey: key) != nil {
      isChanged = true
    }
    for (key, value) in dictionary {
      guard let value = value as? String, value.contains("://"), case let plain = withoutLogin(value), plain != value
      else { continue }
      dictionary[key] = plain
      isChanged = true
    }
    return isChanged ? ProxyDictionaryText.text(dictionary) ?? "" : text
  }

  /// A URL, or host and port alone, without the user.
  private static func withoutLogin(_ text: String) -> String {
    let bytes = text.utf8
    let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? text.endIndex
    guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return text }
    return String(text[..<start] + text[bytes.index(after: at)...])
  }
}
