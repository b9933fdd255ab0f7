import Foundation
import HTTPSemantics

/// Lets no request through that App Transport Security forbids. It comes after the redirects, so that every hop is
/// looked at. What a connection's encryption must be is settled in the handshake (`LoadHandshake.limits`).
struct TransportSecurity: LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep {
    guard let rules = run.context.configuration.transportSecurity, run.httpScheme != .https,
      let url = run.request.urlRequest.url, let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "ws"
    else { return .proceed }
    // A URL of these schemes whose host can't be told is held to the rules for all hosts.
    let host = url.host ?? ""
    guard !rules.rule(forHost: host).allowsInsecureHTTP else { return .proceed }
    let name = host.isEmpty ? "the server" : host
    return .fail(
      ErrorMapping.urlError(
        ErrorMapping.make(
          .appTransportSecurityRequiresSecureConnection,
          because: """
            App Transport Security requires a secure connection to \(name). Use \(scheme)s, or allow \
            \(name) to be loaded without one: in NSExceptionDomains of the bundle's NSAppTransportSecurity, or in the \
            appTransportSecurity of the session's configuration.
            """), url: url))
  }
}
