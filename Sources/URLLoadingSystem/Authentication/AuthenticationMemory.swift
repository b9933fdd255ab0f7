import HTTPSemantics
import Synchronization

/// The protection spaces that loads of one session were let into, and the proofs that did it: what later requests carry
/// unasked. Usable from any thread.
///
/// An entry counts for as long as the session's credential storage holds its credential: an app that removes it there
/// takes it away from the session's requests.
final class AuthenticationMemory: Sendable {
  final class Entry: Sendable {
    let space: URLProtectionSpace
    let credential: URLCredential
    let proof: any AuthenticationProof
    let tunnels: ProxyTunnels?
    let needsHTTP1: Bool
    /// Whether it counts only as long as the storage holds the credential.
    fileprivate let isOfStorage: Bool
    /// The storage's version when it was last found to hold the credential.
    fileprivate let version: Atomic<UInt64>

    fileprivate init(_ attempt: RequestAuthentication.Attempt, _ tunnels: ProxyTunnels?, version: UInt64) {
      (space, credential, proof) = (attempt.space, attempt.credential, attempt.proof)
      (needsHTTP1, isOfStorage) = (attempt.needsHTTP1, !attempt.isOutsideStorage)
      self.tunnels = tunnels
      self.version = Atomic(version)
    }
  }

  private struct Peers {
    private var all: [AuthenticationPeer: [Entry]] = [:]
    /// The peer that was asked for last: most sessions have one server.
    private var last: (peer: AuthenticationPeer, entries: [Entry])?

    var count: Int { all.count }
    var first: AuthenticationPeer? { all.keys.first }

    /// The entry that was let in last among those that `condition` holds for.
    mutating func entry(of peer: AuthenticationPeer, where condition: (Entry) -> Bool) -> Entry? {
      if last?.peer != peer { last = all[peer].map { (peer, $0) } }
      return last?.entries.last(where: condition)
    }

    subscript(peer: AuthenticationPeer) -> [Entry] {
      get { all[peer] ?? [] }
      set {
        all[peer] = newValue.isEmpty ? nil : newValue
        last = nil
      }
    }
  }

  private let storage: URLCredentialStorage
  private let peers = Mutex(Peers())
  private let history = Mutex(SchemeHistory())
  private let count = Atomic<Int>(0)
  /// Spaces of one peer that are kept, and peers: further ones are asked for again.
  private static let maximumSpaces = 32
  private static let maximumPeers = 256

  init(_ storage: URLCredentialStorage) { self.storage = storage }

  /// Whether there is nothing to look up, at the price of one load.
  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  /// The entry of the space that covers a request; nil where the peer has to ask. Of several the one that the peer asked for
  /// last.
  ///
  /// - Parameter requestTarget: of the origin form; for a proxy nothing depends on it.
  func entry(for requestTarget: String, at peer: AuthenticationPeer) -> Entry? {
    let entry = peers.withLock { $0.entry(of: peer) { $0.proof.covers(requestTarget) } }
    return entry.flatMap { validated($0, of: peer) }
  }

  /// The entry of a space that the peer asks for; nil when no load was let into it, or its credential was removed from the
  /// storage.
  func entry(of space: URLProtectionSpace, at peer: AuthenticationPeer) -> Entry? {
    let found = peers.withLock { peers -> Entry? in
      guard let index = peers[peer].firstIndex(where: { $0.space == space }) else { return nil }
      let entry = peers[peer].remove(at: index)
      peers[peer].append(entry)
      return entry
    }
    return found.flatMap { validated($0, of: peer) }
  }

  func remember(_ attempt: RequestAuthentication.Attempt, at peer: AuthenticationPeer) {
    guard attempt.credential.persistence != .none else { return }
    // All tunnels of a credential share one object, so that requests share their connections.
    let tunnels = attempt.tunnels ?? (peer.isProxy ? ProxyTunnels(attempt.proof, isPrepared: false) : nil)
    let entry = Entry(attempt, tunnels, version: storage.version)
    peers.withLock { peers in
      var entries = peers[peer]
      entries.removeAll { $0.space == entry.space }
      if entries.count >= AuthenticationMemory.maximumSpaces { entries.removeFirst() }
      entries.append(entry)
      if peers[peer].isEmpty, peers.count >= AuthenticationMemory.maximumPeers, let other = peers.first {
        peers[other] = []
      }
      peers[peer] = entries
      count.store(peers.count, ordering: .releasing)
    }
  }

  /// The peer has refused a credential.
  func forget(_ attempt: RequestAuthentication.Attempt, at peer: AuthenticationPeer) {
    peers.withLock { peers in
      peers[peer].removeAll { $0.space == attempt.space && $0.credential == attempt.credential }
      count.store(peers.count, ordering: .releasing)
    }
  }

  // MARK: Schemes

  /// Notes the schemes that a peer asks for.
  func note(_ offers: [AuthenticationOffer], from peer: AuthenticationPeer) {
    history.withLock { $0.note(offers, from: peer) }
  }

  /// The app itself gave a credential for a challenge.
  func approve(_ offer: AuthenticationOffer, of peer: AuthenticationPeer) {
    history.withLock { $0.approve(offer, of: peer) }
  }

  /// Whether the credential of a URL, or of a proxy's settings, may answer an offer without the app being asked: not
  /// where the peer asks for less than it used to (see `SchemeHistory`).
  func maySendOwnCredential(answering offer: AuthenticationOffer, of peer: AuthenticationPeer) -> Bool {
    history.withLock { $0.mayAnswer(offer, of: peer) }
  }

  /// The same for the default credential of a space.
  func maySendStoredCredential(answering offer: AuthenticationOffer, of peer: AuthenticationPeer) -> Bool {
    history.withLock { $0.mayAnswerInSpace(offer, of: peer) }
  }

  func removeAll() {
    peers.withLock { peers in
      peers = Peers()
      count.store(0, ordering: .releasing)
    }
  }

  private func validated(_ entry: Entry, of peer: AuthenticationPeer) -> Entry? {
    guard entry.isOfStorage else { return entry }
    let version = storage.version
    guard entry.version.load(ordering: .acquiring) != version else { return entry }
    guard storage.holds(entry.credential, for: entry.space) else {
      peers.withLock { peers in
        peers[peer].removeAll { $0 === entry }
        count.store(peers.count, ordering: .releasing)
      }
      return nil
    }
    entry.version.store(version, ordering: .releasing)
    return entry
  }
}
