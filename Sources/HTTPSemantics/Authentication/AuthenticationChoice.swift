/// Which challenge of a response is answered.
package enum AuthenticationChoice {
  /// The challenges that can be answered, the strongest first: by scheme, among those of Digest by algorithm (RFC 7616
  /// §3.7), otherwise in the server's order. Malformed and unknown ones are left out.
  ///
  /// - Parameter supported: the schemes that can be answered here and now.
  package static func offers(
    in challenges: [AuthenticationChallenge], supported: Set<AuthenticationScheme> = Set(AuthenticationScheme.allCases)
  ) -> [AuthenticationOffer] {
    // The sort is stable.
    challenges.compactMap(AuthenticationOffer.init).filter { supported.contains($0.scheme) }.sorted(by: isStronger)
  }

  /// The challenge to answer next; nil when every one was rejected, and the response is the result.
  ///
  /// - Parameter rejected: the spaces that the app rejected, or whose credential failed for good.
  package static func next(
    among challenges: [AuthenticationChallenge], rejected: Set<AuthenticationSpace> = [],
    supported: Set<AuthenticationScheme> = Set(AuthenticationScheme.allCases)
  ) -> AuthenticationOffer? {
    offers(in: challenges, supported: supported).first { !rejected.contains($0.space) }
  }

  private static func isStronger(_ left: AuthenticationOffer, _ right: AuthenticationOffer) -> Bool {
    if case .digest(let left) = left, case .digest(let right) = right {
      return left.algorithm.hash > right.algorithm.hash
    }
    return left.scheme.rank < right.scheme.rank
  }
}
