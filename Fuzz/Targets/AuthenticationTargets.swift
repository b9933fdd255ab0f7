import HTTPSemantics

extension FuzzTarget {
  /// WWW-Authenticate; line ends part several fields.
  static let challenges = FuzzTarget("challenges") { bytes in
    let values = bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    let challenges = AuthenticationChallenge.parse(values)
    try require(challenges.count <= AuthenticationChallenge.limit, "\(challenges.count) challenges")
    for challenge in challenges {
      try require(FieldValidation.isFieldName(challenge.scheme), "the scheme \(challenge.scheme.debugDescription)")
      try require(challenge.scheme == challenge.scheme.asciiLowercased(), "\(challenge.scheme) is not in lower case")
      try require(challenge.token68?.isEmpty != true, "an empty token")
      try require(challenge.token68 == nil || challenge.parameters.all.isEmpty, "a token and parameters")
      try require(challenge.parameters.all.count <= FieldParameters.limit, "too many parameters")
      let names = challenge.parameters.all.map(\.name)
      try require(Set(names).count == names.count, "a parameter twice")
      guard let offer = AuthenticationOffer(challenge) else { continue }
      try require(offer.scheme.rawValue == challenge.scheme, "\(challenge.scheme) became \(offer.scheme)")
      if case .digest(let digest) = offer { try checkDigest(digest) }
    }
    for value in values { _ = AuthenticationInformation(["Authentication-Info": value]) }
  }

  /// What we answer can be sent, and says what the server said.
  private static func checkDigest(_ challenge: DigestChallenge) throws {
    guard var conversation = DigestConversation(answering: challenge, username: "\u{FC}\"\\", password: "p"),
      let authorization = conversation.authorization(method: "GET", target: "/", clientNonce: "c")
    else { throw Contradiction("no answer to a challenge that can be answered") }
    let value = authorization.fieldValue
    try require(FieldValidation.isFieldValue(value), "the answer \(value.debugDescription)")
    let answer = AuthenticationChallenge.parse([value]).first?.parameters
    try require(answer?["nonce"] == challenge.nonce, "the nonce \(challenge.nonce.debugDescription)")
    // RFC 7616 §3.4 wants the parameter in the answer, also where the challenge names no realm.
    try require(answer?["realm"] == challenge.realm ?? "", "the realm \(challenge.realm.debugDescription)")
    try require(answer?["opaque"] == challenge.opaque, "the opaque value of \(value.debugDescription)")
    if let scope = AuthenticationScope(challenge, at: URIReference("https://a.example/b")) {
      try require(!scope.contains(URIReference("https://b.example/b")), "a scope of two origins")
    }
  }

  /// A server's message of NTLM. Every field of our answer lies inside of it.
  static let ntlm = FuzzTarget("ntlm") { bytes in
    guard let challenge = NTLMChallengeMessage(bytes) else { return }
    let identity = NTLMIdentity(name: "D\\u", password: "p")
    let message = NTLMAuthenticateMessage.bytes(
      answering: challenge, identity: identity, time: 1, clientChallenge: Array(repeating: 1, count: 8),
      targetName: "HTTP/a.example", certificateHash: Array(repeating: 2, count: 32))
    guard let message else { return }
    try require(message.count >= 72, "\(message.count) bytes")
    for field in stride(from: 12, to: 60, by: 8) {
      let length = message[field..<(field + 2)].reversed().reduce(0) { $0 << 8 | Int($1) }
      let offset = message[(field + 4)..<(field + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
      try require(offset + length <= message.count, "\(length) bytes at \(offset) of \(message.count)")
    }
  }
}
