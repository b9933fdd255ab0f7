/// The schemes that servers and proxies have asked for, to notice one that asks for less than before (RFC 7616 §5.8).
///
/// An attacker between client and server can replace a Digest challenge with a Basic one and read the password, or one of
/// SHA-256 with one of MD5 and guess the password faster. So a credential goes out for a weaker scheme than the peer used
/// to ask for only after the app was asked. A value; the owner keeps one for as long as it keeps credentials.
package struct SchemeHistory: Sendable {
  private struct Record {
    var schemes: Set<AuthenticationScheme> = []
    /// The realms for which the peer has asked for Digest with another hash function than MD5.
    var realmsBeyondMD5 = Realms()

    /// Whether forgetting it would let a weaker scheme pass: the peer has asked for more than Basic.
    var isWorthKeeping: Bool { !schemes.isSubset(of: [.basic, .bearer]) }
  }

  private struct Realms {
    private var names: Set<String> = []
    /// Whether there were too many to tell them apart. Then every realm counts as one of them.
    var isFull = false

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

  private var records: [AuthenticationPeer: Record] = [:]
  /// The peers of `records`, in the order in which they were first seen.
  private var peers: [AuthenticationPeer] = []
  /// Stands for every peer that there was no room for: one that is asked for the strongest scheme that any of them asked
  /// for. None is forgotten for another one, so that no peer can have the others forgotten.
  private var rest = Record()

  /// So that a session that visits the whole web does not grow with it.
  private static let limit = 1_000
  private static let realmLimit = 32

  package init() {}

  /// Notes the challenges of one response. A scheme that is weaker than all that the peer offered before does not count
  /// as offered: it may not come from the peer.
  package mutating func note(_ offers: [AuthenticationOffer], from peer: AuthenticationPeer) {
    let offered = Set(offers.map(\.scheme))
    guard !offered.isEmpty else { return }
    let known = records[peer]?.schemes
    let isRecorded = add(known.map { known in offered.filter { !isDowngrade($0, from: known) } } ?? offered, of: peer)
    for case .digest(let challenge) in offers where challenge.algorithm.hash != .md5 {
      if isRecorded {
        records[peer]?.realmsBeyondMD5.insert(challenge.realm ?? "")
      } else {
        rest.realmsBeyondMD5.isFull = true
      }
    }
  }

  /// Notes that the app itself gave a credential for `offer` when it was asked: from now on it is no downgrade. Where there
  /// is no room for the peer, the app is asked again.
  package mutating func approve(_ offer: AuthenticationOffer, of peer: AuthenticationPeer) {
    guard records[peer] != nil || hasRoom() else { return }
    add([offer.scheme], of: peer)
    guard case .digest(let challenge) = offer, challenge.algorithm.hash == .md5 else { return }
    records[peer]?.realmsBeyondMD5.remove(challenge.realm ?? "")
  }

  /// Whether a credential that was given for no space, as part of a URL or of a proxy's settings, may answer `offer`
  /// without the app being asked.
  package func mayAnswer(_ offer: AuthenticationOffer, of peer: AuthenticationPeer) -> Bool {
    let record = records[peer] ?? rest
    if case .digest(let challenge) = offer, challenge.algorithm.hash == .md5, !record.realmsBeyondMD5.isEmpty {
      return false
    }
    return !isDowngrade(offer.scheme, from: record.schemes)
  }

  /// The same for a credential that was given for the space of `offer`, which is that of the scheme and the realm.
  package func mayAnswerInSpace(_ offer: AuthenticationOffer, of peer: AuthenticationPeer) -> Bool {
    guard case .digest(let challenge) = offer, challenge.algorithm.hash == .md5 else { return true }
    return !(records[peer] ?? rest).realmsBeyondMD5.contains(challenge.realm ?? "")
  }

  private func isDowngrade(_ scheme: AuthenticationScheme, from known: Set<AuthenticationScheme>) -> Bool {
    // A token is no password: Bearer tells nothing about the other schemes, nor they about it.
    let known = known.subtracting([.bearer])
    return scheme != .bearer && !known.isEmpty && known.allSatisfy { $0.rank < scheme.rank }
  }

  /// Returns whether there is a record of the peer.
  @discardableResult
  private mutating func add(_ new: Set<AuthenticationScheme>, of peer: AuthenticationPeer) -> Bool {
    if records[peer] == nil {
      // A peer that asks for Basic alone is as good as one that was never seen, and needs no room of another one.
      guard hasRoom() else {
        rest.schemes = rest.schemes.union(new).min { $0.rank < $1.rank }.map { [$0] } ?? []
        return false
      }
      peers.append(peer)
    }
    records[peer, default: Record()].schemes.formUnion(new)
    return true
  }

  /// Makes room for one more peer, at the price of the oldest that asked for no more than Basic. Returns whether there is
  /// any.
  private mutating func hasRoom() -> Bool {
    guard peers.count >= SchemeHistory.limit else { return true }
    guard let index = peers.firstIndex(where: { records[$0]?.isWorthKeeping != true }) else { return false }
    records[peers.remove(at: index)] = nil
    return true
  }
}
