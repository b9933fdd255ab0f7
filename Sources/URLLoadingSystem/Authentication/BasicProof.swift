import HTTPSemantics

/// A user name and password in the clear (RFC 7617).
final class BasicProof: AuthenticationProof {
  private let value: String
  /// nil for a proxy, whose space is all that it serves.
  private let scope: AuthenticationScope?

  /// nil when the credential can't be sent: its user name has a colon, or a part a control character.
  init?(_ credential: URLCredential, for challenge: BasicChallenge, scope: AuthenticationScope?) {
    guard
      let value = credential.withPassword({ password in
        BasicCredentials.fieldValue(
          username: credential.user ?? "", password: password, announcesUTF8: challenge.announcesUTF8)
      })
    else { return nil }
    self.value = value
    self.scope = scope
  }

  func forNextRequest() -> any AuthenticationProof { self }

  func covers(_ target: String) -> Bool { scope?.contains(requestTarget: target) ?? true }

  func fieldValue(for request: @autoclosure () -> ProvenRequest) -> String? { value }
}
