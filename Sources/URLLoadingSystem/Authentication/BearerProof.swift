import HTTPSemantics

/// A token that an app has (RFC 6750): the password of a credential whose user name is empty. The user name keeps a
/// password that was meant for another scheme from being sent as a token.
final class BearerProof: AuthenticationProof {
  private let value: String
  /// nil for a proxy, whose space is all that it serves.
  private let scope: AuthenticationScope?

  /// nil for a credential that holds no token.
  init?(_ credential: URLCredential, scope: AuthenticationScope?) {
    guard credential.user?.isEmpty == true, let token = BearerToken(credential.password ?? "") else { return nil }
    value = token.fieldValue
    self.scope = scope
  }

  func forNextRequest() -> any AuthenticationProof { self }

  func covers(_ target: String) -> Bool { scope?.contains(requestTarget: target) ?? true }

  func fieldValue(for request: @autoclosure () -> ProvenRequest) -> String? { value }
}
