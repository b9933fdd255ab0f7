/// A way to a server.
package enum ProxyRoute: Sendable, Hashable {
  case direct
  case proxy(ProxyServer)
  /// A way that was asked for and can't be gone: the sentence says why.
  case impossible(String)
}
