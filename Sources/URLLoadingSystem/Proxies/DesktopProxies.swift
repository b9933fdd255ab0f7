import Foundation
import HTTPSemantics
import NIOCore
import Synchronization
import SystemServices

/// The user's proxy settings as the desktop keeps them (GNOME, KDE, NetworkManager, PAC, WPAD), told by libproxy.
///
/// Asking takes a thread and time, so that what was said of an origin is believed for a minute.
package final class DesktopProxies: Sendable {
  /// nil where libproxy is not installed.
  package static let shared = SystemProxyLibrary.shared.map { DesktopProxies($0) }

  private let ask: @Sendable (String) -> [String]
  private let answers = Mutex<[ProxyDestination: (routes: [ProxyRoute], expiry: NIODeadline)]>([:])
  private static let validity = TimeAmount.minutes(1)
  private static let limit = 1_000

  package convenience init(_ library: SystemProxyLibrary) { self.init(asking: { library.proxies(for: $0) }) }

  /// - Parameter ask: The proxies for a URL, as URLs, best first. May block.
  init(asking ask: @escaping @Sendable (String) -> [String]) { self.ask = ask }

  /// The routes that were found last, also where they have to be asked for again; nil where none were.
  func lastRoutes(to destination: ProxyDestination) -> [ProxyRoute]? { answers.withLock { $0[destination]?.routes } }

  func routes(to destination: ProxyDestination, in context: LoadContext) async throws -> [ProxyRoute] {
    let now = NIODeadline.now()
    if let known = answers.withLock({ $0[destination] }), known.expiry > now { return known.routes }
    let ask = self.ask
    // The origin is all that the library, and a script behind it, is told: paths hold secrets.
    let host = destination.host.utf8.contains(UInt8(ascii: ":")) ? "[\(destination.host)]" : destination.host
    // Of ws and of no scheme at all the library would know SOCKS proxies only.
    let question = "\(destination.widelyKnownScheme)://\(host):\(destination.port)/"
    let found = try await ProxyQuestion.ask(in: context) { ask(question) }
    let routes = DesktopProxies.routes(found)
    answers.withLock {
      if $0.count >= DesktopProxies.limit { $0 = [:] }
      $0[destination] = (routes, .now() + DesktopProxies.validity)
    }
    return routes
  }

  /// A setting that is not understood is left out; nothing at all means directly.
  static func routes(_ found: [String]) -> [ProxyRoute] {
    let routes = found.compactMap { text -> ProxyRoute? in
      // A proxy for ftp is one that is asked over HTTP, whatever it is called.
      let text = text.hasPrefix("ftp://") ? "http" + text.dropFirst(3) : text
      return text.hasPrefix("direct:") ? .direct : ProxyServer(url: text).map { .proxy($0) }
    }
    return routes.isEmpty ? [.direct] : routes
  }
}
