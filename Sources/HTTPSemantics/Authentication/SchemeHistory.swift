/// The schemes that servers and proxies have asked for, to notice one that asks for less than before.
///
/// An attacker between client and server can replace a Digest challenge with a Basic one and read the password. So a
/// credential goes out for a weaker scheme than the peer used to ask for only after the app was asked. A value; the
/// owner keeps one for as long as it keeps credentials.
package struct SchemeHistory: Sendable {
  private var schemes: [AuthenticationPeer: Set<AuthenticationScheme>] = [:]
  /// In the order in which they were first seen.
  private var peers: [AuthenticationPeer] = []

  /// So that a session that visits the whole web does not grow with it. The oldest peers go first.
  private static let limit = 1_000

  package init() {}

  /// Notes the challenges of one response. A scheme that is weaker than all that the peer offered before does not count
  /// as offered: it may not come from the peer.
  package mutating func note(_ offers: [AuthenticationOffer], from peer: AuthenticationPeer) {
    guard !offers.isEmpty else { return }
    guard let known = schemes[peer] else {
      return add(Set(offers.map(\.scheme)), of: peer)
    }
    add(Set(offers.map(\.scheme).filter { !isDowngrade($0, from: known) }), of: peer)
  }

  /// Notes that the app itself gave a credential for `scheme` when it was asked: from now on it is no downgrade.
  package mutating func approve(_ scheme: AuthenticationScheme, of peer: AuthenticationPeer) { add([scheme], of: peer) }

  /// Whether a credential that was given for no space, as part of a URL or of a proxy's settings, may answer `offer`
  /// without the app being asked.
  package func mayAnswer(_ offer: AuthenticationOffer, of peer: AuthenticationPeer) -> Bool {
    !isDowngrade(offer.scheme, from: schemes[peer] ?? [])
  }

  private func isDowngrade(_ scheme: AuthenticationScheme, from known: Set<AuthenticationScheme>) -> Bool {
    // A token is no password: Bearer tells nothing about the other schemes, nor they about it.
    let known = known.subtracting([.bearer])
    return scheme != .bearer && !known.isEmpty && known.allSatisfy { $0.rank < scheme.rank }
  }

  private mutating func add(_ new: Set<AuthenticationScheme>, of peer: AuthenticationPeer) {
    if schemes[peer] == nil {
      peers.append(peer)
      if peers.count > SchemeHistory.limit { schemes[peers.removeFirst()] = nil }
    }
    schemes[peer, default: []].formUnion(new)
  }
}
