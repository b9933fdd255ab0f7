import Foundation
import HTTPSemantics

/// A part of a server, or a proxy, that demands authentication. Immutable; may be a key of a dictionary.
open class URLProtectionSpace: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  /// The properties that make two spaces the same.
  struct Identity: Hashable, Sendable {
    var host: String
    var port: Int
    var scheme: String?
    var proxyType: String?
    var realm: String?
    var authenticationMethod: String

    /// Written in the one way in which challenges write it: a port of 0 is the default of the protocol, and the default
    /// method of HTTP is Basic.
    var canonical: Identity {
      var identity = self
      identity.host = host.asciiLowercased()
      identity.scheme = scheme?.asciiLowercased()
      let ports = ["http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21, "ftps": 990]
      if port == 0, let scheme = identity.scheme { identity.port = ports[scheme] ?? 0 }
      let isHTTP =
        ["http", "https", "ws", "wss"].contains(identity.scheme)
        || [NSURLProtectionSpaceHTTPProxy, NSURLProtectionSpaceHTTPSProxy].contains(proxyType)
      if isHTTP, authenticationMethod == NSURLAuthenticationMethodDefault {
        identity.authenticationMethod = NSURLAuthenticationMethodHTTPBasic
      }
      return identity
    }
  }

  // Sendable by hand, because subclasses are allowed, and nothing to assert: constants, all of Sendable types.
  private let identity: Identity
  /// The parts that are compared.
  let canonical: Identity
  private let acceptedIssuers: [Data]?
  private let trust: SecTrust?

  /// A space of a server.
  ///
  /// - Parameters:
  ///   - host: The name or the address of the server.
  ///   - port: 0 means the default of the protocol.
  ///   - protocol: One of the `NSURLProtectionSpaceHTTP…` constants, or another URL scheme.
  ///   - realm: The server's name for the space.
  ///   - authenticationMethod: One of the `NSURLAuthenticationMethod…` constants; nil and everything else become
  ///     `NSURLAuthenticationMethodDefault`.
  public init(host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?) {
    identity = Identity(
      host: host, port: port, scheme: `protocol`, realm: realm,
      authenticationMethod: URLProtectionSpace.knownMethod(authenticationMethod))
    canonical = identity.canonical
    acceptedIssuers = nil
    trust = nil
  }

  /// A space of a proxy. `type` is one of the `NSURLProtectionSpaceHTTPProxy…` constants.
  public init(proxyHost host: String, port: Int, type: String?, realm: String?, authenticationMethod: String?) {
    identity = Identity(
      host: host, port: port, proxyType: type ?? NSURLProtectionSpaceHTTPProxy, realm: realm,
      authenticationMethod: URLProtectionSpace.knownMethod(authenticationMethod))
    canonical = identity.canonical
    acceptedIssuers = nil
    trust = nil
  }

  package init(
    host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?,
    distinguishedNames: [Data]?, serverTrust: SecTrust?
  ) {
    identity = Identity(
      host: host, port: port, scheme: `protocol`, realm: realm,
      authenticationMethod: URLProtectionSpace.knownMethod(authenticationMethod))
    canonical = identity.canonical
    acceptedIssuers = distinguishedNames
    trust = serverTrust
  }

  private static func knownMethod(_ method: String?) -> String {
    guard let method, knownMethods.contains(method) else { return NSURLAuthenticationMethodDefault }
    return method
  }

  private static let knownMethods: Set<String> = [
    NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
    NSURLAuthenticationMethodHTMLForm, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
    NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodBearer,
  ]

  /// The server's name for the space (RFC 9110 §11.5); nil where the method has none.
  open var realm: String? { identity.realm }

  /// Whether the credential can't be read on its way: the protocol is encrypted, or the method does not send it.
  open var receivesCredentialSecurely: Bool {
    if identity.scheme == NSURLProtectionSpaceHTTPS || identity.scheme == "wss" { return true }
    switch identity.authenticationMethod {
    case NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
      NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust:
      return true
    default: return false
    }
  }

  /// Whether this is a space of a proxy.
  open override func isProxy() -> Bool { identity.proxyType != nil }
  /// The host of the server or of the proxy.
  open var host: String { identity.host }
  /// The port of the server or of the proxy; 0: the default of the protocol.
  open var port: Int { identity.port }

  /// The kind of proxy; nil for servers.
  open var proxyType: String? { identity.proxyType }

  /// The scheme of the server's URLs; nil for proxies.
  open var `protocol`: String? { identity.scheme }
  /// One of the `NSURLAuthenticationMethod…` constants.
  open var authenticationMethod: String { identity.authenticationMethod }

  /// The certificate authorities that the server accepts, as DER names; nil unless a client certificate is wanted.
  open var distinguishedNames: [Data]? { acceptedIssuers }

  /// The server's certificates; nil unless they are to be judged.
  open var serverTrust: SecTrust? { trust }

  // MARK: Copying and comparing

  /// The space itself, since it never changes.
  open override func copy() -> Any { self }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether host, port, protocol, proxy type, realm and method are the same. Port 0 is the same as the default of the
  /// protocol, and `NSURLAuthenticationMethodDefault` as `NSURLAuthenticationMethodHTTPBasic` where the protocol is HTTP.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? URLProtectionSpace else { return false }
    return self === other || canonical == other.canonical
  }

  open override var hash: Int { canonical.hashValue }

  open override var description: String {
    "<\(type(of: self))>: Host:\(host), Server:\(self.protocol ?? "(null)"), Auth-Scheme:\(authenticationMethod), "
      + "Realm:\(realm ?? "(null)"), Port:\(port), Proxy:\(isProxy() ? "YES" : "NO"), "
      + "Proxy-Type:\(proxyType ?? "(null)")"
  }

  // MARK: Archiving

  /// Always true: an archive names the classes it may be read as.
  open class var supportsSecureCoding: Bool { true }

  public required init?(coder: NSCoder) {
    guard coder.allowsKeyedCoding, let host = coder.decodeObject(of: NSString.self, forKey: "host") as String?,
      let method = coder.decodeObject(of: NSString.self, forKey: "authenticationMethod") as String?
    else { return nil }
    identity = Identity(
      host: host, port: coder.decodeInteger(forKey: "port"),
      scheme: coder.decodeObject(of: NSString.self, forKey: "protocol") as String?,
      proxyType: coder.decodeObject(of: NSString.self, forKey: "proxyType") as String?,
      realm: coder.decodeObject(of: NSString.self, forKey: "realm") as String?,
      authenticationMethod: URLProtectionSpace.knownMethod(method))
    canonical = identity.canonical
    acceptedIssuers =
      coder.decodeObject(of: [NSArray.self, NSData.self], forKey: "distinguishedNames") as? [Data]
    trust = nil
  }

  /// Archives everything but the server's certificates.
  open func encode(with coder: NSCoder) {
    coder.encode(host as NSString, forKey: "host")
    coder.encode(port, forKey: "port")
    coder.encode(identity.scheme as NSString?, forKey: "protocol")
    coder.encode(proxyType as NSString?, forKey: "proxyType")
    coder.encode(realm as NSString?, forKey: "realm")
    coder.encode(authenticationMethod as NSString, forKey: "authenticationMethod")
    coder.encode(distinguishedNames as NSArray?, forKey: "distinguishedNames")
  }
}
