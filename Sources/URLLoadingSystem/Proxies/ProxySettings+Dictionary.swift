import Foundation
import HTTPSemantics

extension ProxySettings {
  /// Reads a proxy dictionary in CFNetwork's vocabulary.
  ///
  /// As CFNetwork's headers say, a kind of proxy counts only where its `…Enable` key is there and not zero. The user
  /// name and the password of `kCFProxyUsernameKey` and `kCFProxyPasswordKey` are for every proxy of the dictionary.
  /// The form of one resolved proxy (`kCFProxyTypeKey` …) is understood, too. Keys of RTSP and Gopher have no effect.
  init(dictionary: [AnyHashable: Any]) {
    self.init()
    let reader = Reader(values: dictionary)
    guard !reader.describesOneProxy else {
      self = reader.oneProxy()
      return
    }
    http = reader.server(.http, "HTTP")
    https = reader.server(.http, "HTTPS")
    ftp = reader.server(.http, "FTP")
    socks = reader.server(.socks5, "SOCKS")
    let list = reader.values[kCFNetworkProxiesExceptionsList] as? [Any] ?? []
    exceptions = ProxyExceptions(list.compactMap { $0 as? String }, dialect: .exceptionsList)
    excludesSimpleNames = reader.isOn(kCFNetworkProxiesExcludeSimpleHostnames)
    if reader.isOn(kCFNetworkProxiesProxyAutoConfigEnable) {
      automatic =
        reader.text(kCFNetworkProxiesProxyAutoConfigJavaScript).map { .script($0) }
        ?? reader.text(kCFNetworkProxiesProxyAutoConfigURLString).map { .url($0) }
    }
    if automatic == nil, reader.isOn(kCFNetworkProxiesProxyAutoDiscoveryEnable) { automatic = .discovery }
  }

  /// `kCFNetworkProxiesFTPPassive`, which says nothing of proxies. True where it is left out, as on Apple's systems.
  static func usesPassiveFTP(_ dictionary: [AnyHashable: Any]?) -> Bool {
    guard let dictionary, dictionary[kCFNetworkProxiesFTPPassive] != nil else { return true }
    return Reader(values: dictionary).isOn(kCFNetworkProxiesFTPPassive)
  }

  private struct Reader {
    let values: [AnyHashable: Any]

    var describesOneProxy: Bool { values[kCFProxyTypeKey] != nil }

    func text(_ key: String) -> String? {
      if let url = values[key] as? URL { return url.absoluteString }
      guard let text = values[key] as? String, !text.isEmpty else { return nil }
      return text
    }

    func number(_ key: String) -> Int? {
      switch values[key] {
      case let number as Int: number
      case let number as NSNumber: number.intValue
      case let text as String: Int(text)
      default: nil
      }
    }

    func isOn(_ key: String) -> Bool { (values[key] as? Bool) ?? ((number(key) ?? 0) != 0) }

    private var credential: ProxyServer.Credential? {
      text(kCFProxyUsernameKey).map { .init(username: $0, password: text(kCFProxyPasswordKey) ?? "") }
    }

    /// The proxy whose keys begin with `prefix`: `HTTPEnable`, `HTTPProxy`, `HTTPPort`.
    func server(_ kind: ProxyServer.Kind, _ prefix: String) -> ProxyServer? {
      guard isOn(prefix + "Enable"), let host = text(prefix + "Proxy") else { return nil }
      return server(kind, host: host, port: number(prefix + "Port"))
    }

    private func server(_ kind: ProxyServer.Kind, host: String, port: Int?) -> ProxyServer? {
      // Some write a URL where a host is meant; its scheme then says what the proxy speaks.
      var server: ProxyServer
      if host.contains("://") {
        guard let read = ProxyServer(url: host) else { return nil }
        server = read
      } else {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        server = ProxyServer(kind, host: bare.asciiLowercased())
      }
      if let port {
        guard (1...65_535).contains(port) else { return nil }
        server.port = port
      }
      server.credential = credential ?? server.credential
      return server
    }

    func oneProxy() -> ProxySettings {
      var settings = ProxySettings()
      let type = text(kCFProxyTypeKey)
      let port = number(kCFProxyPortNumberKey)
      switch (type, text(kCFProxyHostNameKey)) {
      case (kCFProxyTypeHTTP, let host?), (kCFProxyTypeHTTPS, let host?):
        settings.http = server(.http, host: host, port: port)
        settings.https = settings.http
      case (kCFProxyTypeSOCKS, let host?): settings.socks = server(.socks5, host: host, port: port)
      case (kCFProxyTypeFTP, let host?): settings.ftp = server(.http, host: host, port: port)
      case (kCFProxyTypeAutoConfigurationURL, _):
        settings.automatic = text(kCFProxyAutoConfigurationURLKey).map { .url($0) }
      case (kCFProxyTypeAutoConfigurationJavaScript, _):
        settings.automatic = text(kCFProxyAutoConfigurationJavaScriptKey).map { .script($0) }
      default: break
      }
      return settings
    }
  }
}
