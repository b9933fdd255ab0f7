import Foundation
import HTTPSemantics

/// Lets no request through that App Transport Security forbids. It comes after the redirects, so that every hop is
/// looked at. What a connection's encryption must be is settled in the handshake (`LoadHandshake.limits`).
struct TransportSecurity: LoadStage {
  func load(_ request: LoadRequest, in context: LoadContext, next: LoadPipeline.Next) async throws -> LoadedResponse {
    if let rules = context.configuration.transportSecurity, let url = request.urlRequest.url,
      let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "ws", let host = url.host,
      !rules.rule(forHost: host).allowsInsecureHTTP
    {
      throw ErrorMapping.urlError(
        ErrorMapping.make(
          .appTransportSecurityRequiresSecureConnection,
          because: """
            App Transport Security requires a secure connection to \(host). Use \(scheme)s, or allow \
            \(host) to be loaded without one: in NSExceptionDomains of the bundle's NSAppTransportSecurity, or in the \
            appTransportSecurity of the session's configuration.
            """), url: url)
    }
    return try await next(request, context)
  }
}
