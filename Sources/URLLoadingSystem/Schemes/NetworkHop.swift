import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import SystemServices

/// The state of the loaders of network schemes in one hop: where the request goes, by which route, with which body, and
/// what became of earlier attempts. Confined to the load's event loop.
final class NetworkHop {
  /// How a server without a proxy in between is asked, where it does not speak HTTP.
  typealias DirectLoad = (_ key: ConnectionKey) -> any DirectAttempt

  /// A value that is large and mostly absent.
  private final class SettledRouting {
    let value: HTTPRouting

    init(_ value: HTTPRouting) { self.value = value }
  }

  private let loop: any EventLoop
  var target: HTTPTarget
  let purpose: HTTPRouting.Purpose
  let direct: DirectLoad?
  /// The logins that were tried at an FTP server; nil for other servers.
  var ftpAuthentication: FTPAuthentication?
  /// Set when `routing` is settled.
  var isRouted = false
  /// nil when the request goes directly and nothing is left to decide.
  var routing: HTTPRouting? {
    get { settledRouting?.value }
    set {
      settledRouting = newValue.map { SettledRouting($0) }
      settleIdentity()
    }
  }
  private var settledRouting: SettledRouting?
  /// The user for whom a connection speaks to the server, whatever it does to a proxy.
  private var serverIdentity = ConnectionIdentity.none
  var body: RequestBodySource?
  var attempt: (any NetworkAttempt)?
  /// The value of Proxy-Authorization for the attempts at a proxy that is asked for the resource.
  var proxyAuthorization: String?
  /// The connection that is being authenticated, and that the next attempts use.
  private(set) var reservation: ConnectionReservation?
  /// Attempts that met a connection which the server had closed.
  var staleConnections = 0
  /// Whether a connection was given up because the server's SETTINGS did not come.
  var hasMissedSettings = false
  var resending = ResendRule()
  /// Whether HTTP/2 was ruled out only for the sake of a connection that speaks for a user.
  private(set) var forgoesHTTP2 = false
  /// Whether the server has asked for the request behind a complete handshake (RFC 8470 §5.2).
  var avoidsEarlyData = false
  /// Statuses that were answered with a repetition: each is, once.
  var repeatedStatuses: Set<Int> = []

  init(
    to target: HTTPTarget, as purpose: HTTPRouting.Purpose, for run: PipelineRun, direct: DirectLoad? = nil
  ) {
    self.purpose = purpose
    self.direct = direct
    let request = run.request.urlRequest
    let context = run.context
    loop = context.loop
    self.target = target
    let socketPath = purpose == .http || purpose == .webSocket ? context.configuration.unixSocketPath : nil
    let trafficClass = TrafficClass(request, ofSession: context.configuration.networkServiceType)
    let forbidden = context.configuration.forbiddenNetworks.union(NetworkTraits(forbiddenBy: request))
    let requiresDNSSEC = context.configuration.requiresDNSSECValidation || request.requiresDNSSECValidation
    let ofConnection = run.carried.flatMap { $0.isOfConnection ? $0 : nil }
    // Hardly a request is special, and a key is large.
    guard
      ofConnection != nil || socketPath != nil || trafficClass != .bestEffort || !forbidden.isEmpty || requiresDNSSEC
    else { return }
    var key = target.key
    if let ofConnection {
      serverIdentity = ofConnection.proof.identity
      key.identity = serverIdentity
      // As in `reserveConnection`: the session remembers it.
      forgoesHTTP2 = ofConnection.needsHTTP1
      if forgoesHTTP2 { key.allowsHTTP2 = false }
    }
    key.socketPath = key.socketPath ?? socketPath
    key.trafficClass = trafficClass
    key.forbiddenNetworks = forbidden
    key.requiresDNSSEC = requiresDNSSEC
    self.target.key = key
  }

  deinit {
    // A load that ends in the middle: the server may take the connection for the user's.
    reservation?.release(as: .authenticatedUser(UUID().uuidString))
  }

  /// Takes the last attempt out of the metrics: what is done again unasked is no transaction.
  func forgetAttempt() {
    loop.assertInEventLoop()
    attempt?.forget()
    attempt = nil
  }
}

// MARK: Connections that speak for a user

extension NetworkHop {
  /// Keeps the connection of the present attempt for the next ones: with these the server comes to know who speaks over
  /// it. Where that can't be had, the next attempt uses another connection of that identity.
  ///
  /// - Parameters:
  ///   - proof: one with an identity `none` authenticates each request by itself.
  ///   - isOfProxy: whether it is for the proxy that forwards, and is in `routing`.
  func reserveConnection(for proof: (any AuthenticationProof)?, isOfProxy: Bool = false) async {
    loop.assertInEventLoop()
    guard let proof, proof.identity != .none else { return }
    if reservation == nil, let attempt = attempt as? HTTPAttempt { reservation = await attempt.reserveConnection() }
    if reservation == nil { _ = proof.restart() }
    if !isOfProxy { serverIdentity = proof.identity }
    settleIdentity()
    // Only a connection of HTTP/1.1 can speak for one user.
    if reservation == nil, target.key.allowsHTTP2 {
      target.key.allowsHTTP2 = false
      forgoesHTTP2 = true
    }
  }

  private func settleIdentity() {
    loop.assertInEventLoop()
    let identity = serverIdentity.joined(with: routing?.identity ?? .none)
    if target.key.identity != identity { target.key.identity = identity }
  }

  /// The connection is authenticated, and serves other requests for the same users.
  func endReservation() { endReservation(as: target.key.identity) }

  /// The connection is gone.
  func forgetReservation() { endReservation(as: .none) }

  private func endReservation(as identity: ConnectionIdentity) {
    loop.assertInEventLoop()
    reservation?.release(as: identity)
    reservation = nil
  }

  /// The connection was not authenticated: no other request gets it.
  ///
  /// - Parameter isOfProxy: whether the proxy was to know the user; otherwise the next attempt speaks for none to the server.
  func giveUpReservation(isOfProxy: Bool = false) {
    endReservation(as: .authenticatedUser(UUID().uuidString))
    if !isOfProxy { serverIdentity = .none }
    settleIdentity()
    if forgoesHTTP2 { target.key.allowsHTTP2 = true }
    forgoesHTTP2 = false
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
