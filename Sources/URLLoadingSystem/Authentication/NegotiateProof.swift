import Foundation
import HTTPSemantics
import HTTPTransport
import Synchronization
import SystemServices

/// Kerberos, or NTLM inside of SPNEGO, by the system's GSS-API (RFC 4559). Some servers authenticate a connection by it,
/// others each request: the first request of a credential that is repeated unasked tells.
final class NegotiateProof: AuthenticationProof {
  /// The part that the requests of one credential share.
  private final class Peer: Sendable {
    let host: String
    /// nil for the user's ticket cache.
    let credential: GSSCredential?
    /// Whether the server asks again on connections that were let in: then every request carries a token.
    let wantsEachRequest = Atomic(false)
    /// The server's certificate when it last asked; nil without TLS.
    let certificate = Mutex<ServerCertificate?>(nil)

    init(host: String, credential: GSSCredential?) {
      self.host = host
      self.credential = credential
    }
  }

  private struct State {
    var context: GSSContext?
    var token: [UInt8]?
    /// Whether the connection is hoped to be authenticated.
    var isSilent = false
  }

  let identity: ConnectionIdentity
  private let peer: Peer
  private let state: Mutex<State>

  /// - Parameter credential: One without a user name stands for the ticket cache.
  /// - Returns: nil where GSS-API is not installed.
  init?(_ credential: URLCredential, host: String) {
    guard GSSAPI.isAvailable else { return nil }
    var own: GSSCredential?
    if let user = credential.user, !user.isEmpty {
      own = GSSCredential(user: user, password: credential.withPassword { SecretBytes(copying: $0) })
    }
    identity = .authenticatedUser(UUID().uuidString)
    peer = Peer(host: host, credential: own)
    state = Mutex(State())
  }

  private init(next previous: NegotiateProof) {
    (identity, peer) = (previous.identity, previous.peer)
    state = Mutex(State(isSilent: true))
  }

  func forNextRequest() -> any AuthenticationProof { NegotiateProof(next: self) }

  func covers(_ target: String) -> Bool { true }

  func bind(to certificate: ServerCertificate?) { peer.certificate.withLock { $0 = certificate } }

  func begin(with offer: AuthenticationOffer) async -> Bool { await advance(nil) }

  var isPrepared: Bool { !peer.wantsEachRequest.load(ordering: .relaxed) || !state.withLock { $0.isSilent } }

  func prepare() async { _ = await advance(nil) }

  func fieldValue(for request: @autoclosure () -> ProvenRequest) -> String? {
    state.withLock { state in
      // A request that goes out without a token is silent: it may be asked.
      if state.token == nil { state.isSilent = true }
      defer { state.token = nil }
      return state.token.map { "Negotiate " + Data($0).base64EncodedString() }
    }
  }

  func goesOn(after offers: [AuthenticationOffer]) async -> Bool {
    for case .negotiate(let token) in offers {
      let wasSilent = state.withLock { $0.isSilent }
      guard wasSilent || token != nil else { return false }
      if wasSilent { peer.wantsEachRequest.store(true, ordering: .relaxed) }
      return await advance(wasSilent ? nil : token)
    }
    return false
  }

  /// - Returns: Whether there is something to send.
  private func advance(_ token: [UInt8]?) async -> Bool {
    let bindings = peer.certificate.withLock { $0 }?.endPointHash.map { GSSChannelBindings.tlsServerEndPoint(hash: $0) }
    let context = state.withLock { state in
      state.isSilent = false
      if token == nil || state.context == nil {
        // TLS says who the server is.
        state.context = GSSContext(
          host: peer.host, credential: peer.credential, channelBindings: bindings, requestsMutualAuthentication: false)
      }
      return state.context
    }
    guard let step = try? await context?.step(token), !step.token.isEmpty else { return false }
    state.withLock { $0.token = step.token }
    return true
  }
}
