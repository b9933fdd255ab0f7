import HTTPSemantics
import Synchronization

/// The protection spaces that loads of one session were let into, and the proofs that did it: what later requests carry
/// unasked. Usable from any thread.
///
/// An entry counts for as long as the session's credential storage holds its credential: an app that removes it there
/// takes it away from the session's requests.
final class AuthenticationMemory: Sendable {
  struct Entry: Sendable {
    let space: URLProtectionSpace
    let credential: URLCredential
    let proof: any AuthenticationProof
    let tunnels: ProxyTunnels?
    /// The storage's version when it was last found to hold the credential; nil for one that it need not hold.
    fileprivate var version: UInt64?
  }

  private let storage: URLCredentialStorage
  private let peers = Mutex<[AuthenticationPeer: [Entry]]>([:])
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
    guard let entries = peers.withLock({ $0[peer] }) else { return nil }
    guard let entry = entries.last(where: { $0.proof.covers(requestTarget) }) else { return nil }
    return validated(entry, of: peer)
  }

  /// The entry of a space that the peer asks for; nil when no load was let into it, or its credential was removed from the
  /// storage.
  func entry(of space: URLProtectionSpace, at peer: AuthenticationPeer) -> Entry? {
    let found = peers.withLock { peers -> Entry? in
      guard let index = peers[peer]?.firstIndex(where: { $0.space == space }) else { return nil }
      guard let entry = peers[peer]?.remove(at: index) else { return nil }
      peers[peer]?.append(entry)
      return entry
    }
    return found.flatMap { validated($0, of: peer) }
  }

  func remember(_ attempt: RequestAuthentication.Attempt, at peer: AuthenticationPeer) {
    guard attempt.credential.persistence != .none else { return }
    // All tunnels of a credential share one object, so that requests share their connections.
    let tunnels = attempt.tunnels ?? (peer.isProxy ? ProxyTunnels(attempt.proof, isPrepared: false) : nil)
    let entry = Entry(
      space: attempt.space, credential: attempt.credential, proof: attempt.proof, tunnels: tunnels,
      version: attempt.isOutsideStorage ? nil : storage.version)
    peers.withLock { peers in
      var entries = peers[peer] ?? []
      entries.removeAll { $0.space == entry.space }
      if entries.count >= AuthenticationMemory.maximumSpaces { entries.removeFirst() }
      entries.append(entry)
      if peers[peer] == nil, peers.count >= AuthenticationMemory.maximumPeers, let other = peers.keys.first {
        peers[other] = nil
      }
      peers[peer] = entries
      count.store(peers.count, ordering: .releasing)
    }
  }

  /// The peer has refused a credential.
  func forget(_ attempt: RequestAuthentication.Attempt, at peer: AuthenticationPeer) {
    peers.withLock { peers in
      peers[peer]?.removeAll { $0.space == attempt.space && $0.credential == attempt.credential }
      if peers[peer]?.isEmpty == true { peers[peer] = nil }
      count.store(peers.count, ordering: .releasing)
    }
  }

  // MARK: Schemes

  /// Notes the schemes that a peer asks for.
  func note(_ offers: [AuthenticationOffer], from peer: AuthenticationPeer) {
    history.withLock { $0.note(offers, from: peer) }
  }

  /// The app itself gave a credential for a scheme.
  func approve(_ scheme: AuthenticationScheme, of peer: AuthenticationPeer) {
    history.withLock { $0.approve(scheme, of: peer) }
  }

  /// Whether the credential of a URL, or of a proxy's settings, may answer an offer without the app being asked: not
  /// where the peer asks for less than it used to (see `SchemeHistory`).
  func maySendOwnCredential(answering offer: AuthenticationOffer, of peer: AuthenticationPeer) -> Bool {
    history.withLock { $0.mayAnswer(offer, of: peer) }
  }

  func removeAll() {
    peers.withLock { peers in
      peers = [:]
      count.store(0, ordering: .releasing)
    }
  }

  private func validated(_ entry: Entry, of peer: AuthenticationPeer) -> Entry? {
    let version = storage.version
    guard let known = entry.version, known != version else { return entry }
    let isThere = storage.holds(entry.credential, for: entry.space)
    peers.withLock { peers in
      guard let index = peers[peer]?.firstIndex(where: { $0.proof === entry.proof }) else { return }
      if isThere { peers[peer]?[index].version = version } else { peers[peer]?.remove(at: index) }
      if peers[peer]?.isEmpty == true { peers[peer] = nil }
      count.store(peers.count, ordering: .releasing)
    }
    return isThere ? entry : nil
  }
}
