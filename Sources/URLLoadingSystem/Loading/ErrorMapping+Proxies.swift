import Foundation
import HTTPTransport

extension ErrorMapping {
  /// The codes for what goes wrong with a proxy. Apple's own numbers for it (CFNetwork's 306 for HTTP, 310 for HTTPS
  /// proxies, 307 for credentials, 101 for SOCKS, …) are in the underlying error.
  static func proxyError(_ failure: ProxyFailure) -> URLError {
    let sentence = failure.phrase + "."
    let underlying = NSError(
      domain: "kCFErrorDomainCFNetwork", code: cfNetworkCode(of: failure),
      userInfo: [NSLocalizedDescriptionKey: sentence])
    return URLError(
      code(of: failure), userInfo: [NSLocalizedDescriptionKey: sentence, NSUnderlyingErrorKey: underlying])
  }

  static func code(of failure: ProxyFailure) -> URLError.Code {
    switch failure.cause {
    case .notFound: .cannotFindHost
    case .unreachable, .status, .socksReply, .unsuitable: .cannotConnectToHost
    case .insecure: .secureConnectionFailed
    case .silent: .networkConnectionLost
    case .malformed: .cannotParseResponse
    case .authenticationRequired: .userAuthenticationRequired
    }
  }

  private static func cfNetworkCode(of failure: ProxyFailure) -> Int {
    let isSOCKS = !failure.proxy.kind.isHTTP
    return switch failure.cause {
    case .authenticationRequired: isSOCKS ? 122 : 307
    case .socksReply(let version, let code): version == 5 ? 120 : code == 93 ? 113 : code == 92 ? 112 : 110
    case .status: 310
    default: isSOCKS ? 101 : failure.proxy.kind == .https ? 310 : 306
    }
  }
}
