/// A user name and password for a SOCKS proxy (RFC 1929), which get them before there is a request.
final class SOCKSProof: AuthenticationProof {
  func forNextRequest() -> any AuthenticationProof { self }
  func covers(_ target: String) -> Bool { true }
  func fieldValue(for request: @autoclosure () -> ProvenRequest) -> String? { nil }
}
