import Foundation
import HTTPSemantics
import HTTPTransport

extension URLProtectionSpace {
  /// The space of a server, for one of its challenges.
  convenience init(_ key: ConnectionKey, _ offer: AuthenticationOffer) {
    self.init(
      host: key.host, port: key.port,
      protocol: key.scheme == .https ? NSURLProtectionSpaceHTTPS : NSURLProtectionSpaceHTTP,
      realm: offer.namedRealm, authenticationMethod: offer.scheme.method)
  }
}

extension AuthenticationOffer {
  /// nil for schemes that know no realms.
  var namedRealm: String? {
    switch self {
    case .negotiate, .ntlm: nil
    case .digest, .basic, .bearer: realm
    }
  }
}

extension AuthenticationScheme {
  var method: String {
    switch self {
    case .negotiate: NSURLAuthenticationMethodNegotiate
    case .ntlm: NSURLAuthenticationMethodNTLM
    case .digest: NSURLAuthenticationMethodHTTPDigest
    case .basic: NSURLAuthenticationMethodHTTPBasic
    case .bearer: NSURLAuthenticationMethodBearer
    }
  }
}
