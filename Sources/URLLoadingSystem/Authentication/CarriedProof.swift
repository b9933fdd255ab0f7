import HTTPTransport

/// The proof that a request carries, and what its stages ask about it.
struct CarriedProof {
  let proof: any AuthenticationProof
  let identity: ConnectionIdentity
  let isRemembered: Bool
  let needsHTTP1: Bool

  init(_ attempt: RequestAuthentication.Attempt) {
    proof = attempt.proof
    identity = attempt.proof.identity
    isRemembered = attempt.isRemembered
    needsHTTP1 = attempt.needsHTTP1
  }

  /// Whether the server's letting the request in changes nothing: neither a connection nor the session learns from it.
  var isSettled: Bool { isRemembered && identity == .none }
}
