import HTTPSemantics
import HTTPTransport
import SystemServices

/// The state of the loaders of network schemes in one hop: where the request goes, by which route, with which body, and
/// what became of earlier attempts. Confined to the load's event loop.
final class NetworkHop {
  /// How a server without a proxy in between is asked, where it does not speak HTTP.
  typealias DirectLoad = (_ key: ConnectionKey) -> any DirectAttempt

  var target: HTTPTarget
  let purpose: HTTPRouting.Purpose
  let direct: DirectLoad?
  /// Set when `routing` is settled.
  var isRouted = false
  /// nil when the request goes directly and nothing is left to decide.
  var routing: HTTPRouting?
  var body: RequestBodySource?
  var attempt: (any NetworkAttempt)?
  /// Attempts that met a connection which the server had closed.
  var staleConnections = 0
  var resending = ResendRule()
  /// Statuses that were answered with a repetition: each is, once.
  var repeatedStatuses: Set<Int> = []

  init(
    to target: HTTPTarget, as purpose: HTTPRouting.Purpose, for run: PipelineRun, direct: DirectLoad? = nil
  ) {
    self.target = target
    self.purpose = purpose
    self.direct = direct
    let request = run.request.urlRequest
    let configuration = run.context.configuration
    self.target.key.trafficClass = TrafficClass(request, configuration)
    self.target.key.forbiddenNetworks = configuration.forbiddenNetworks.union(NetworkTraits(forbiddenBy: request))
    self.target.key.requiresDNSSEC = configuration.requiresDNSSECValidation || request.requiresDNSSECValidation
  }

  /// Takes the last attempt out of the metrics: what is done again unasked is no transaction.
  func forgetAttempt() {
    attempt?.forget()
    attempt = nil
  }
}

/// One try at getting a response: by one route, over one connection.
protocol NetworkAttempt: AnyObject {
  /// Whether it may be made again without harm, without asking the app (RFC 9110 §9.2.2).
  var isIdempotent: Bool { get }
  func forget()
}

/// An attempt at a server that is not asked in HTTP.
protocol DirectAttempt: NetworkAttempt {
  func run() async throws -> LoadedResponse
}
