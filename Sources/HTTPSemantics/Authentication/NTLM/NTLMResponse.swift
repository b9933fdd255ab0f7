/// The NTLMv2 computations (MS-NLMP §3.3.2).
package struct NTLMResponse: Sendable {
  /// NtChallengeResponse: NTProofStr and what it was made of.
  package let ntResponse: [UInt8]
  /// LmChallengeResponse: LMv2.
  package let lmResponse: [UInt8]
  /// SessionBaseKey. Without key exchange it is the exported session key (MS-NLMP §3.1.5.1.2).
  package let sessionKey: [UInt8]

  /// - Parameters:
  ///   - time: eight bytes.
  ///   - clientChallenge: eight bytes.
  ///   - target: attributes with MsvAvEOL.
  package init(
    identity: NTLMIdentity, serverChallenge: [UInt8], clientChallenge: [UInt8], time: [UInt8], target: [UInt8]
  ) {
    let zeros = [UInt8](repeating: 0, count: 4)
    // MS-NLMP §2.2.2.7: the version of the response twice, reserved bytes, and `temp` ends with zeros too.
    let blob = [1, 1, 0, 0] + zeros + time + clientChallenge + zeros + target + zeros
    let proof = NTLMIdentity.code(key: identity.responseKey, serverChallenge + blob)
    ntResponse = proof + blob
    lmResponse = NTLMIdentity.code(key: identity.responseKey, serverChallenge + clientChallenge) + clientChallenge
    sessionKey = NTLMIdentity.code(key: identity.responseKey, proof)
  }
}
