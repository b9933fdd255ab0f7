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

    /// The same space in the form in which challenges name it. Host and scheme are in lower case. A port of 0 becomes the
    /// default port of the scheme: 80, 443, 21, or 990 for FTP over TLS from the first byte (`ftps`). The default method of
    /// HTTP becomes Basic.
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

  /// Creates the space of a server.
  ///
  /// - Parameters:
  ///   - host: The name or the address of the server, without a port and without brackets.
  ///   - port: The port; 0 stands for the default port of the protocol.
  ///   - protocol: The scheme of the server's URLs: `NSURLProtectionSpaceHTTP`, `NSURLProtectionSpaceHTTPS` or
  ///     `NSURLProtectionSpaceFTP`, else the scheme as text. Loads of `ftps` URLs ask with `NSURLProtectionSpaceFTP` and the port
  ///     of the URL, 990 by default: a credential for them is stored for such a space.
  ///   - realm: The name that the server gives the space in its challenge (RFC 9110 §11.5); nil for a method without realms.
  ///   - authenticationMethod: One of the `NSURLAuthenticationMethod…` constants. nil, and a text that is none of them,
  ///     become `NSURLAuthenticationMethodDefault`.
  public init(host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?) {
    identity = Identity(
      host: host, port: port, scheme: `protocol`, realm: realm,
      authenticationMethod: URLProtectionSpace.knownMethod(authenticationMethod))
    canonical = identity.canonical
    acceptedIssuers = nil
    trust = nil
  }

  /// Creates the space of a proxy.
  ///
  /// - Parameters:
  ///   - host: The name or the address of the proxy.
  ///   - port: The port of the proxy.
  ///   - type: `NSURLProtectionSpaceHTTPProxy`, `NSURLProtectionSpaceHTTPSProxy`, `NSURLProtectionSpaceFTPProxy` or
  ///     `NSURLProtectionSpaceSOCKSProxy`; nil becomes `NSURLProtectionSpaceHTTPProxy`.
  ///   - realm: The name that the proxy gives the space in its challenge; nil for a method without realms.
  ///   - authenticationMethod: One of the `NSURLAuthenticationMethod…` constants. nil, and a text that is none of them,
  ///     become `NSURLAuthenticationMethodDefault`.
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

  /// Whether the credential is unreadable on its way to the server: the protocol is encrypted (`https`, `wss`, `ftps`), or
  /// the method proves that the client has the credential without sending it.
  ///
  /// Challenges of loads from FTP servers have the protocol `ftp`, also over TLS (RFC 4217), so this is false there. Of a proxy
  /// the method alone decides: its type does not say how the proxy is reached.
  open var receivesCredentialSecurely: Bool {
    if [NSURLProtectionSpaceHTTPS, "wss", "ftps"].contains(identity.scheme?.asciiLowercased()) { return true }
    switch identity.authenticationMethod {
    case NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
      NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust:
      return true
    default: return false
    }
  }

  /// Whether this is a space of a proxy rather than of a server.
  open override func isProxy() -> Bool { identity.proxyType != nil }
  /// The host of the server or of the proxy.
  open var host: String { identity.host }
  /// The port of the server or of the proxy, as it was given; 0 stands for the default port of the protocol.
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

  /// The space itself, as `copy()`; `zone` has no meaning.
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

  /// Reads an archived space, without the server's certificates; nil where the archive has none, or is not keyed.
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
