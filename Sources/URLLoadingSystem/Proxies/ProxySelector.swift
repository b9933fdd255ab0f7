import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import Synchronization
import SystemServices

/// Decides which way the requests of a session go. Usable from any loop.
///
/// `proxyConfigurations` count before `connectionProxyDictionary`, and this before the system's settings: the
/// environment, and where it says nothing the desktop's, through libproxy.
package final class ProxySelector: Sendable {
  private enum Source: Sendable {
    case configurations(ProxyConfiguration.Rules)
    case settings(ProxySettings)
    case desktop(DesktopProxies, exceptions: ProxyExceptions)
  }

  private let source: Source
  private let script: ProxyScript?

  /// A proxy, whatever it is shown.
  private struct Place: Hashable {
    let kind: ProxyServer.Kind
    let host: String
    let port: Int

    init(_ server: ProxyServer) {
      kind = server.kind
      host = server.host
      port = server.port
    }
  }

  private struct Memory: Sendable {
    /// Proxies that did not work, and until when others are tried before them.
    var outages: [Place: NIODeadline] = [:]
    /// The credentials that apps gave when a proxy asked.
    var credentials: [Place: ProxyServer.Credential] = [:]
  }

  private let memory = Mutex(Memory())
  private let lastDirect = Mutex<ConnectionKey?>(nil)
  private static let outageLength = TimeAmount.minutes(1)

  /// nil when no request of the session can lead through a proxy.
  static func make(
    dictionary: [AnyHashable: Any]?, configurations: [ProxyConfiguration], environment: [String: String]?,
    desktop: DesktopProxies? = .shared
  ) -> ProxySelector? {
    if !configurations.isEmpty { return ProxySelector(.configurations(.init(configurations))) }
    if let dictionary {
      let settings = ProxySettings(dictionary: dictionary)
      return settings.areDirect ? nil : ProxySelector(.settings(settings))
    }
    let variables = environment ?? ProxySelector.environment()
    if let settings = ProxySettings(environment: variables) { return ProxySelector(.settings(settings)) }
    // libproxy believes HTTP_PROXY wherever it comes from; a program that answers web requests has no desktop anyway.
    guard let desktop, variables["REQUEST_METHOD"] == nil else { return nil }
    return ProxySelector(.desktop(desktop, exceptions: ProxySettings.exceptions(ofEnvironment: variables)))
  }

  /// The variables of this process that speak of proxies.
  static func environment() -> [String: String] {
    var found: [String: String] = [:]
    for name in ProxySettings.environmentNames {
      if let value = getenv(name) { found[name] = String(cString: value) }
    }
    return found
  }

  private init(_ source: Source) {
    self.source = source
    if case .settings(let settings) = source, let automatic = settings.automatic {
      script = ProxyScript(automatic)
    } else {
      script = nil
    }
  }

  // MARK: The way

  /// The ways to `destination`, best first; never empty. Throws what aborts the load.
  /// - Parameter url: The whole URL, for scripts; nil where there is none.
  func routes(to url: URL?, _ destination: ProxyDestination, in context: LoadContext) async throws -> [ProxyRoute] {
    if let known = knownRoutes(to: destination) { return known }
    switch source {
    case .configurations: return [.direct]
    case .settings(let settings):
      guard let script, let found = try await script.routes(to: url, destination, in: context) else {
        return arranged(settings.routes(for: destination))
      }
      return arranged(found)
    case .desktop(let desktop, _): return arranged(try await desktop.routes(to: destination, in: context))
    }
  }

  /// Whether no proxy is on the way to the server of `key`, as far as can be said without asking anybody. Requests mostly
  /// go where the one before went: that costs next to nothing.
  func reachesDirectly(_ key: ConnectionKey, as destination: () -> ProxyDestination) -> Bool {
    guard case .desktop = source else { return false }
    let isKnown = lastDirect.withLock { last in
      last.map { $0.port == key.port && $0.scheme == key.scheme && $0.host == key.host } ?? false
    }
    guard !isKnown else { return true }
    guard reachesDirectly(destination()) else { return false }
    lastDirect.withLock { $0 = key }
    return true
  }

  private func reachesDirectly(_ destination: ProxyDestination) -> Bool {
    guard case .desktop(_, let exceptions) = source else { return false }
    return destination.isLoopback || exceptions.contains(destination)
  }

  /// nil when the desktop or a script has to be asked first.
  private func knownRoutes(to destination: ProxyDestination) -> [ProxyRoute]? {
    switch source {
    case .configurations(let rules): return arranged(rules.routes(for: destination))
    case .settings(let settings):
      guard script == nil || settings.excludes(destination) else { return nil }
      return arranged(settings.routes(for: destination))
    case .desktop: return reachesDirectly(destination) ? [.direct] : nil
    }
  }

  /// With the credentials that are known, and what has just failed behind what may work.
  private func arranged(_ routes: [ProxyRoute]) -> [ProxyRoute] {
    memory.withLock { memory in
      guard !memory.outages.isEmpty || !memory.credentials.isEmpty else { return routes }
      let now = NIODeadline.now()
      memory.outages = memory.outages.filter { $0.value > now }
      let known = routes.map { route -> (route: ProxyRoute, isOut: Bool) in
        guard case .proxy(var server) = route else { return (route, false) }
        let isOut = memory.outages[Place(server)] != nil
        if let credential = memory.credentials[Place(server)] { server.credential = credential }
        return (.proxy(server), isOut)
      }
      return known.filter { !$0.isOut }.map(\.route) + known.filter(\.isOut).map(\.route)
    }
  }

  /// The host that connections for `url` lead to when that is the proxy's; nil when it is not, or not known yet. Loads
  /// run on the loop where their connections are.
  func hostOfConnections(for url: URL?) -> String? {
    // The desktop has to be asked each time, unless there is none.
    if case .desktop = source { return nil }
    guard let url, let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "ftp", let host = url.host,
      case .proxy(let server)? = knownRoutes(
        to: ProxyDestination(
          scheme: scheme, host: host.asciiLowercased(), port: url.port ?? (scheme == "ftp" ? 21 : 80)))?.first,
      server.kind.isHTTP, !server.tunnelsPlainHTTP
    else { return nil }
    return server.host
  }

  /// Whether requests of http to the server of `key` go there directly, as far as is known without asking. Whatever the
  /// desktop said last counts, also where it has to be asked again.
  func isKnownToBeDirect(_ key: ConnectionKey) -> Bool {
    func destination() -> ProxyDestination {
      ProxyDestination(scheme: "http", host: key.host.asciiLowercased(), port: key.port)
    }
    switch source {
    case .configurations, .settings: return knownRoutes(to: destination())?.first == .direct
    case .desktop(let desktop, _):
      return reachesDirectly(key, as: destination) || desktop.lastRoutes(to: destination())?.first == .direct
    }
  }

  // MARK: What was learned

  func noteOutage(of server: ProxyServer) {
    memory.withLock {
      // So that a session behind a script that makes up proxies does not grow without end.
      if $0.outages.count > 100 { $0.outages = [:] }
      $0.outages[Place(server)] = .now() + ProxySelector.outageLength
    }
  }

  func remember(_ credential: ProxyServer.Credential?, for server: ProxyServer) {
    memory.withLock {
      if $0.credentials.count > 100 { $0.credentials = [:] }
      $0.credentials[Place(server)] = credential
    }
  }
}
