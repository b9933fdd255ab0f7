import HTTPSemantics
import HTTPTransport
import Synchronization

/// A credential as it opens the tunnels of an HTTP proxy: part of the key of their connections, so that requests with
/// another credential do not share them.
final class ProxyTunnels: TunnelCredential {
  private let proof: any AuthenticationProof
  private let isUnused: Mutex<Bool>

  /// - Parameter isPrepared: whether the proof is prepared for a request that was not sent yet.
  init(_ proof: any AuthenticationProof, isPrepared: Bool) {
    self.proof = proof
    isUnused = Mutex(isPrepared)
  }

  func makeConversation() -> any TunnelConversation {
    let isFirst = isUnused.withLock { isUnused in
      defer { isUnused = false }
      return isUnused
    }
    return Conversation(proof: isFirst ? proof : proof.forNextRequest())
  }

  private struct Conversation: TunnelConversation {
    let proof: any AuthenticationProof

    func value(for target: String, after head: HTTPResponseHead?) async -> String? {
      if let head {
        let challenges = AuthenticationChallenge.all(in: head.fields, "Proxy-Authenticate")
        guard await proof.goesOn(after: AuthenticationChoice.offers(in: challenges)) else { return nil }
      } else if !proof.isPrepared {
        await proof.prepare()
      }
      return try? proof.fieldValue(for: ProvenRequest(method: "CONNECT", target: target, body: .init()))
    }
  }
}
