/// A challenge of a response that can be answered, as the scheme understands it.
package enum AuthenticationOffer: Sendable, Equatable {
  /// The token is nil in the first challenge (RFC 4559 §5).
  case negotiate(token: [UInt8]?)
  /// The token is nil in the first challenge; later it is an `NTLMChallengeMessage`.
  case ntlm(token: [UInt8]?)
  case digest(DigestChallenge)
  case basic(BasicChallenge)
  case bearer(BearerChallenge)

  /// nil for a scheme that is not known, and for a challenge that can't be answered.
  package init?(_ challenge: AuthenticationChallenge) {
    switch AuthenticationScheme(rawValue: challenge.scheme) {
    case nil: return nil
    case .negotiate, .ntlm:
      let token = challenge.token68.map { Base64.decoded($0.utf8) }
      // A token that is no base64.
      if case .some(nil) = token { return nil }
      self = challenge.scheme == "ntlm" ? .ntlm(token: token ?? nil) : .negotiate(token: token ?? nil)
    case .digest:
      guard let digest = try? DigestChallenge(challenge) else { return nil }
      self = .digest(digest)
    case .basic:
      guard let basic = BasicChallenge(challenge) else { return nil }
      self = .basic(basic)
    case .bearer:
      guard let bearer = BearerChallenge(challenge) else { return nil }
      self = .bearer(bearer)
    }
  }

  package var scheme: AuthenticationScheme {
    switch self {
    case .negotiate: .negotiate
    case .ntlm: .ntlm
    case .digest: .digest
    case .basic: .basic
    case .bearer: .bearer
    }
  }

  /// nil where the challenge has none, and for schemes that know no realms.
  package var realm: String? {
    switch self {
    case .negotiate, .ntlm: nil
    case .digest(let challenge): challenge.realm
    case .basic(let challenge): challenge.realm
    case .bearer(let challenge): challenge.realm
    }
  }
}
