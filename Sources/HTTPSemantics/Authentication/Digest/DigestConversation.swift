/// One user's use of a server's Digest challenges: the current nonce, and how often it was used.
///
/// A value without a clock or randomness; the owner keeps one for each protection space and user, and takes an
/// authorization from it for every request. It holds no password, but a hash that serves as one in its realm.
package struct DigestConversation: Sendable {
  package private(set) var challenge: DigestChallenge
  private let username: String
  /// H(username:realm:password).
  private let secret: String
  /// H(A1) of a `-sess` algorithm, from the first request on (RFC 7616 §3.4.2).
  private var sessionSecret: String?
  package private(set) var nonce: String
  private var count: UInt32 = 0

  /// - Returns: nil when the name holds a control character, which no field can carry.
  package init?(answering challenge: DigestChallenge, username: String, password: UnsafeRawBufferPointer) {
    let username = CredentialText.prepared(username, announcesUTF8: challenge.announcesUTF8)
    guard !CredentialText.hasControls(username) else { return nil }
    self.challenge = challenge
    self.username = DigestUsername.parameter(username, for: challenge)
    secret = CredentialText.withPrepared(password, announcesUTF8: challenge.announcesUTF8) { password in
      var hasher = DigestHasher(challenge.algorithm.hash)
      Array("\(username):\(challenge.realm ?? ""):".utf8).withUnsafeBytes { hasher.update($0) }
      hasher.update(password)
      return hasher.finished()
    }
    nonce = challenge.nonce
  }

  /// As above, with a password that is in ordinary memory.
  package init?(answering challenge: DigestChallenge, username: String, password: String) {
    var password = password
    let made = password.withUTF8 {
      DigestConversation(answering: challenge, username: username, password: UnsafeRawBufferPointer($0))
    }
    guard let made else { return nil }
    self = made
  }

  /// Whether `authorization` needs the hash of the request's body.
  package var needsBodyHash: Bool { challenge.quality == .integrity }

  /// The authorization of the next request; every one counts.
  ///
  /// - Parameters:
  ///   - method: of the request.
  ///   - target: the request-target of the message that the server gets: path and query, the absolute URL to a proxy
  ///     that forwards, `host:port` for CONNECT. In HTTP/2 that is `:path`, or `:authority` for CONNECT.
  ///   - clientNonce: not used before; see `clientNonce(_:)`.
  ///   - bodyHash: the hash of the request's body; nil where `needsBodyHash` is true means an empty body.
  /// - Returns: nil when an argument can't be part of a field, or the nonce was used as often as can be counted.
  package mutating func authorization(
    method: String, target: String, clientNonce: String, bodyHash: String? = nil
  ) -> DigestAuthorization? {
    guard FieldValidation.isTarget(target), FieldValidation.isFieldValue(clientNonce), count < .max else { return nil }
    count += 1
    let hash = challenge.algorithm.hash
    let proof = DigestProof(
      hash: hash, secret: secret(firstClientNonce: clientNonce), nonce: nonce, count: countText,
      clientNonce: clientNonce, target: target)
    let response = proof.value(method: method, quality: challenge.quality, bodyHash: bodyHash ?? hash.hex(""))
    let fieldValue = "Digest " + parameters(of: proof, response: response).joined(separator: ", ")
    return DigestAuthorization(fieldValue: fieldValue, proof: proof, quality: challenge.quality)
  }

  /// A client nonce of random bytes, 16 or more.
  package static func clientNonce(_ randomBytes: [UInt8]) -> String { randomBytes.hexText }

  /// Takes what a response says for the next request: `nextnonce` (RFC 7616 §3.5). Not to be called for a response
  /// whose verdict is `invalid`.
  package mutating func note(_ information: AuthenticationInformation?) {
    // A nonce that is current already keeps its count: requests that run at the same time get the same one.
    guard let next = information?.nextNonce, next != nonce else { return }
    nonce = next
    count = 0
  }

  /// Goes on with the nonce of a new challenge and the same credential.
  ///
  /// - Returns: false when the challenge asks for something that the password is needed for: another realm, another
  ///   hash, another form of the name. Nothing has changed then.
  package mutating func renew(with challenge: DigestChallenge) -> Bool {
    guard challenge.realm == self.challenge.realm, challenge.algorithm.hash == self.challenge.algorithm.hash,
      challenge.wantsUserHash == self.challenge.wantsUserHash,
      challenge.announcesUTF8 == self.challenge.announcesUTF8
    else { return false }
    self.challenge = challenge
    // Requests that were refused at the same time may be told the same nonce: it keeps its count, or the server would see
    // the same count twice and take the second one for a replay.
    guard challenge.nonce != nonce else { return true }
    nonce = challenge.nonce
    count = 0
    sessionSecret = nil
    return true
  }

  /// So many times in a row a request is sent again because its nonce was too old. The next time counts as a refusal.
  package static let renewalLimit = 4

  /// Whether the answer to `authorization` refuses the nonce and not the credential (`stale`, RFC 7616 §3.3): the
  /// request is to be sent again after `renew(with:)`, and the app is not asked.
  ///
  /// - Parameter renewals: how often that has happened to this request before.
  package static func isRenewal(
    _ challenge: DigestChallenge, of authorization: DigestAuthorization, renewals: Int
  ) -> Bool {
    challenge.isStale && challenge.nonce != authorization.nonce && renewals < renewalLimit
  }

  /// H(A1), RFC 7616 §3.4.2.
  private mutating func secret(firstClientNonce clientNonce: String) -> String {
    guard challenge.algorithm.isSession else { return secret }
    if let sessionSecret { return sessionSecret }
    let made = challenge.algorithm.hash.hex("\(secret):\(nonce):\(clientNonce)")
    sessionSecret = made
    return made
  }

  private var countText: String {
    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: count >> UInt32($0)) }.hexText
  }

  /// RFC 7616 §3.4: `algorithm`, `nc`, `qop` and `userhash` must not be quoted, the others must be.
  private func parameters(of proof: DigestProof, response: String) -> [String] {
    var parameters = [
      username, "realm=" + QuotedString.encoded(challenge.realm ?? ""), "nonce=" + QuotedString.encoded(proof.nonce),
      "uri=" + QuotedString.encoded(proof.target),
    ]
    if let name = challenge.algorithmName { parameters.append("algorithm=" + name) }
    if let quality = challenge.quality { parameters += ["qop=" + quality.rawValue, "nc=" + proof.count] }
    // RFC 2069 knows no client nonce, but a `-sess` algorithm can't be checked without one.
    if challenge.quality != nil || challenge.algorithm.isSession {
      parameters.append("cnonce=" + QuotedString.encoded(proof.clientNonce))
    }
    parameters.append("response=\"\(response)\"")
    if let opaque = challenge.opaque { parameters.append("opaque=" + QuotedString.encoded(opaque)) }
    if challenge.wantsUserHash { parameters.append("userhash=true") }
    return parameters
  }
}
