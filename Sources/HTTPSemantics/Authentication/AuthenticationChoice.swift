/// Which challenge of a response is answered.
package enum AuthenticationChoice {
  /// The challenges that can be answered, the strongest first: by scheme, among those of Digest by algorithm (RFC 7616
  /// §3.7), otherwise in the server's order. Malformed and unknown ones are left out.
  package static func offers(in challenges: [AuthenticationChallenge]) -> [AuthenticationOffer] {
    // The sort is stable.
    challenges.compactMap(AuthenticationOffer.init).sorted(by: isStronger)
  }

  /// The same for the challenges of a server, where a proxy was asked for the resource. RFC 4559 §6: a proxy has to say that a
  /// connection to it leads to one connection to the server. One that does not may send other users' requests over the one
  /// that speaks for this user.
  ///
  /// - Parameter fields: those of the response.
  package static func offers(
    in challenges: [AuthenticationChallenge], throughProxy fields: HTTPFields
  ) -> [AuthenticationOffer] {
    let offers = offers(in: challenges)
    guard !fields.hasToken("Session-Based-Authentication", in: "Proxy-Support") else { return offers }
    return offers.filter { !$0.scheme.isOfConnection }
  }

  private static func isStronger(_ left: AuthenticationOffer, _ right: AuthenticationOffer) -> Bool {
    if case .digest(let left) = left, case .digest(let right) = right {
      return left.algorithm.hash > right.algorithm.hash
    }
    return left.scheme.rank < right.scheme.rank
  }
}
