/// App Transport Security: which hosts an app may talk to without encryption, and how good the encryption must be.
/// The rules of the `NSAppTransportSecurity` dictionary, without the dictionary.
package struct TransportSecurityRules: Hashable, Sendable {
  /// The rules that count for one host.
  package struct HostRule: Hashable, Sendable {
    package var allowsInsecureHTTP: Bool
    /// The version's number on the wire (RFC 8446 §4.1.2); nil demands nothing.
    package var minimumTLSVersion: UInt16?
    package var requiresForwardSecrecy: Bool

    package init(allowsInsecureHTTP: Bool, minimumTLSVersion: UInt16?, requiresForwardSecrecy: Bool) {
      self.allowsInsecureHTTP = allowsInsecureHTTP
      self.minimumTLSVersion = minimumTLSVersion
      self.requiresForwardSecrecy = requiresForwardSecrecy
    }

    /// The demands of ATS on a host that nothing is said about.
    package static let strict = HostRule(
      allowsInsecureHTTP: false, minimumTLSVersion: 0x0303, requiresForwardSecrecy: true)
    /// Its demands where it is switched off.
    package static let none = HostRule(
      allowsInsecureHTTP: true, minimumTLSVersion: nil, requiresForwardSecrecy: false)
  }

  package struct Exception: Hashable, Sendable {
    package var includesSubdomains: Bool
    package var rule: HostRule

    package init(includesSubdomains: Bool, rule: HostRule) {
      self.includesSubdomains = includesSubdomains
      self.rule = rule
    }
  }

  package var allowsArbitraryLoads: Bool
  package var allowsLocalNetworking: Bool
  private let exceptions: [String: Exception]

  package init(allowsArbitraryLoads: Bool, allowsLocalNetworking: Bool, exceptions: [String: Exception]) {
    self.allowsArbitraryLoads = allowsArbitraryLoads
    self.allowsLocalNetworking = allowsLocalNetworking
    self.exceptions = Dictionary(
      exceptions.map { (TransportSecurityRules.normal($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The rule of the most specific exception; without one, what is allowed in general. An exception counts also where
  /// everything is allowed: so a host can be made an exception to that.
  package func rule(forHost host: String) -> HostRule {
    let host = TransportSecurityRules.normal(host)
    if let exception = exceptions[host] { return exception.rule }
    if !TransportSecurityRules.isAddress(host) {
      var parent = Substring(host)
      while let dot = parent.firstIndex(of: ".") {
        parent = parent[parent.index(after: dot)...]
        if let exception = exceptions[String(parent)], exception.includesSubdomains { return exception.rule }
      }
    }
    if allowsLocalNetworking, TransportSecurityRules.isLocal(host) { return .none }
    return allowsArbitraryLoads ? .none : .strict
  }

  /// Names without a dot, names of `.local`, and addresses.
  package static func isLocal(_ host: String) -> Bool {
    let host = normal(host)
    return isAddress(host) || !host.contains(".") || host.hasSuffix(".local")
  }

  /// An IPv6 address has a colon; a name's last label is no number (RFC 1123 §2.1).
  private static func isAddress(_ host: String) -> Bool {
    if host.contains(":") { return true }
    guard let last = host.split(separator: ".").last else { return false }
    return last.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  private static func normal(_ host: String) -> String {
    var name = Substring(host)
    if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
    if name.hasSuffix(".") { name = name.dropLast() }
    return name.lowercased()
  }
}
