import HTTPSemantics
import HTTPTransport
import Synchronization

/// A credential as it opens the tunnels of an HTTP proxy: part of the key of their connections, so that requests with
/// another credential do not share them.
final class ProxyTunnels: TunnelCredential {
  private struct State {
    /// Whether the proof is prepared for a request that was not sent yet.
    var isUnused: Bool
    /// The challenges of a proxy that closes the connection on which it asks; nil for one that is not known to.
    var offersOfClosing: [AuthenticationOffer]?
    /// Whether the proxy has refused the credential.
    var isRefused = false
  }

  private let proof: any AuthenticationProof
  private let state: Mutex<State>

  /// - Parameter isPrepared: whether the proof is prepared for a request that was not sent yet.
  init(_ proof: any AuthenticationProof, isPrepared: Bool) {
    self.proof = proof
    state = Mutex(State(isUnused: isPrepared))
  }

  var isOfConnection: Bool { proof.identity != .none }

  func makeConversation() -> any TunnelConversation {
    let (isFirst, offers) = state.withLock { state in
      defer { state.isUnused = false }
      return (state.isUnused, state.offersOfClosing)
    }
    return Conversation(
      tunnels: self, proof: isFirst ? proof : proof.forNextRequest(), offersOfClosing: isFirst ? nil : offers)
  }

  /// Notes that the proxy closed a connection on which it was to be asked without a message: later ones begin with it.
  ///
  /// - Returns: Whether the credential is worth another connection: the proxy has not refused it.
  func begin(answering offers: [AuthenticationOffer]) -> Bool {
    state.withLock { state in
      guard !state.isRefused else { return false }
      state.offersOfClosing = offers
      return true
    }
  }

  private struct Conversation: TunnelConversation {
    let tunnels: ProxyTunnels
    let proof: any AuthenticationProof
    let offersOfClosing: [AuthenticationOffer]?

    func value(for target: String, after head: HTTPResponseHead?) async -> String? {
      if let head {
        let challenges = AuthenticationChallenge.all(in: head.fields, "Proxy-Authenticate")
        guard await proof.goesOn(after: AuthenticationChoice.offers(in: challenges)) else {
          tunnels.state.withLock { $0.isRefused = true }
          return nil
        }
      } else if let offersOfClosing {
        _ = await proof.goesOn(after: offersOfClosing)
      } else if !proof.isPrepared {
        await proof.prepare()
      }
      return try? proof.fieldValue(for: ProvenRequest(method: "CONNECT", target: target, body: .init()))
    }
  }
}
