/// Which challenge of a response is answered.
package enum AuthenticationChoice {
  /// The challenges that can be answered, the strongest first: by scheme, among those of Digest by algorithm (RFC 7616
  /// §3.7), otherwise in the server's order. Malformed and unknown ones are left out.
  package static func offers(in challenges: [AuthenticationChallenge]) -> [AuthenticationOffer] {
    // The sort is stable.
    challenges.compactMap(AuthenticationOffer.init).sorted(by: isStronger)
  }

  private static func isStronger(_ left: AuthenticationOffer, _ right: AuthenticationOffer) -> Bool {
    if case .digest(let left) = left, case .digest(let right) = right {
      return left.algorithm.hash > right.algorithm.hash
    }
    return left.scheme.rank < right.scheme.rank
  }
}
