import Foundation
import HTTPSemantics
import HTTPTransport

/// Loads over TLS what a host wants to be loaded over TLS only, and learns which hosts do (RFC 6797). It comes after the
/// redirects, so that every hop is looked at, and before App Transport Security, which looks at the URL that is loaded.
///
/// A session whose requests go to a Unix-domain socket has no part in it: the program behind the socket is not the host that
/// the URL names.
struct HSTS: LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep {
    guard run.httpScheme == .http, let store = HSTS.store(run) else { return .proceed }
    guard store.isRead else {
      return .wait {
        await store.read()
        return secure(run, store)
      }
    }
    return store.isEmpty ? .proceed : secure(run, store)
  }

  private func secure(_ run: PipelineRun, _ store: HSTSStore) -> LoadStep {
    guard let url = run.request.urlRequest.url,
      let secure = store.secured(URIReference(url.absoluteString), at: HSTS.now),
      let secureURL = URL(string: secure.text)
    else { return .proceed }
    run.loadInstead(secureURL)
    run.context.client.load(run.context, isUsing: run.request.urlRequest)
    return .proceed
  }

  /// Only what the host itself says counts, now and over TLS (RFC 6797 §8.1).
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard run.network != nil, run.httpScheme == .https, let store = HSTS.store(run),
      let key = run.httpTarget?.key, let fields = response.head?.fields, fields.contains("Strict-Transport-Security"),
      let policy = StrictTransportSecurity(fields)
    else { return .proceed }
    store.note(policy, from: key.host, port: key.port, at: HSTS.now)
    return .proceed
  }

  /// Whether requests of http to `host` are loaded over TLS, as far as is known without waiting.
  static func secures(_ host: String, in configuration: LoadConfiguration) -> Bool {
    guard let store = store(configuration), !store.isEmpty else { return false }
    return store.contains(host, at: now)
  }

  private static func store(_ run: PipelineRun) -> HSTSStore? { store(run.context.configuration) }

  private static func store(_ configuration: LoadConfiguration) -> HSTSStore? {
    configuration.unixSocketPath == nil ? configuration.hsts : nil
  }

  private static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
