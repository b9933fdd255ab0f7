/// The schemes that servers and proxies have asked for, to notice one that asks for less than before (RFC 7616 §5.8).
///
/// An attacker between client and server can replace a Digest challenge with a Basic one and read the password, or one of
/// SHA-256 with one of MD5 and guess the password faster. So a credential goes out for a weaker scheme than the peer used
/// to ask for only after the app was asked. A value; the owner keeps one for as long as it keeps credentials.
package struct SchemeHistory: Sendable {
  private var schemes: [AuthenticationPeer: Set<AuthenticationScheme>] = [:]
  /// The realms for which a peer has asked for Digest with another hash function than MD5.
  private var realmsBeyondMD5: [AuthenticationPeer: Realms] = [:]
  /// In the order in which they were first seen.
  private var peers: [AuthenticationPeer] = []

  /// So that a session that visits the whole web does not grow with it. The oldest peers go first.
  private static let limit = 1_000
  private static let realmLimit = 32

  private struct Realms {
    private var names: Set<String> = []
    /// Whether there were too many to tell them apart. Then every realm counts as one of them.
    private var isFull = false

    var isEmpty: Bool { names.isEmpty && !isFull }

    mutating func insert(_ realm: String) {
      if names.count < SchemeHistory.realmLimit {
        names.insert(realm)
      } else if !names.contains(realm) {
        isFull = true
      }
    }

    mutating func remove(_ realm: String) { names.remove(realm) }

    func contains(_ realm: String) -> Bool { isFull || names.contains(realm) }
  }

  package init() {}

  /// Notes the challenges of one response. A scheme that is weaker than all that the peer offered before does not count
  /// as offered: it may not come from the peer.
  package mutating func note(_ offers: [AuthenticationOffer], from peer: AuthenticationPeer) {
    guard !offers.isEmpty else { return }
    defer { noteDigests(offers, from: peer) }
    guard let known = schemes[peer] else {
      return add(Set(offers.map(\.scheme)), of: peer)
    }
    add(Set(offers.map(\.scheme).filter { !isDowngrade($0, from: known) }), of: peer)
  }

  private mutating func noteDigests(_ offers: [AuthenticationOffer], from peer: AuthenticationPeer) {
    for case .digest(let challenge) in offers where challenge.algorithm.hash != .md5 {
      realmsBeyondMD5[peer, default: Realms()].insert(challenge.realm ?? "")
    }
  }

  /// Notes that the app itself gave a credential for `offer` when it was asked: from now on it is no downgrade.
  package mutating func approve(_ offer: AuthenticationOffer, of peer: AuthenticationPeer) {
    add([offer.scheme], of: peer)
    guard case .digest(let challenge) = offer, challenge.algorithm.hash == .md5 else { return }
    realmsBeyondMD5[peer]?.remove(challenge.realm ?? "")
  }

  /// Whether a credential that was given for no space, as part of a URL or of a proxy's settings, may answer `offer`
  /// without the app being asked.
  package func mayAnswer(_ offer: AuthenticationOffer, of peer: AuthenticationPeer) -> Bool {
    if case .digest(let challenge) = offer, challenge.algorithm.hash == .md5, realmsBeyondMD5[peer]?.isEmpty == false {
      return false
    }
    return !isDowngrade(offer.scheme, from: schemes[peer] ?? [])
  }

  /// The same for a credential that was given for the space of `offer`, which is that of the scheme and the realm.
  package func mayAnswerInSpace(_ offer: AuthenticationOffer, of peer: AuthenticationPeer) -> Bool {
    guard case .digest(let challenge) = offer, challenge.algorithm.hash == .md5 else { return true }
    return realmsBeyondMD5[peer]?.contains(challenge.realm ?? "") != true
  }

  private func isDowngrade(_ scheme: AuthenticationScheme, from known: Set<AuthenticationScheme>) -> Bool {
    // A token is no password: Bearer tells nothing about the other schemes, nor they about it.
    let known = known.subtracting([.bearer])
    return scheme != .bearer && !known.isEmpty && known.allSatisfy { $0.rank < scheme.rank }
  }

  private mutating func add(_ new: Set<AuthenticationScheme>, of peer: AuthenticationPeer) {
    if schemes[peer] == nil {
      peers.append(peer)
      if peers.count > SchemeHistory.limit {
        let oldest = peers.removeFirst()
        (schemes[oldest], realmsBeyondMD5[oldest]) = (nil, nil)
      }
    }
    schemes[peer, default: []].formUnion(new)
  }
}
