import HTTPSemantics
import HTTPTransport
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
    /// The storage's version when it was last found to hold the credential; nil for one that it need not hold.
    fileprivate var version: UInt64?
  }

  private struct Server: Hashable {
    let isSecure: Bool
    let host: String
    let port: Int

    init(_ target: HTTPTarget) {
      (isSecure, host, port) = (target.key.scheme == .https, target.key.host, target.key.port)
    }
  }

  private let storage: URLCredentialStorage
  private let servers = Mutex<[Server: [Entry]]>([:])
  private let count = Atomic<Int>(0)
  /// Spaces of one server that are kept, and servers: further ones are asked for again.
  private static let maximumSpaces = 32
  private static let maximumServers = 256

  init(_ storage: URLCredentialStorage) { self.storage = storage }

  /// Whether there is nothing to look up, at the price of one load.
  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  /// The entry of the innermost space that covers a request; nil where the server has to ask.
  func entry(for target: HTTPTarget) -> Entry? {
    let server = Server(target)
    guard let entries = servers.withLock({ $0[server] }) else { return nil }
    guard let entry = entries.last(where: { $0.proof.covers(target.requestTarget) }) else { return nil }
    return validated(entry, of: server)
  }

  /// The entry of a space; nil when no load was let into it, or its credential was removed from the storage.
  func entry(of space: URLProtectionSpace, at target: HTTPTarget) -> Entry? {
    let server = Server(target)
    guard let entry = servers.withLock({ $0[server]?.first { $0.space == space } }) else { return nil }
    return validated(entry, of: server)
  }

  func remember(_ attempt: RequestAuthentication.Attempt, at target: HTTPTarget) {
    guard attempt.credential.persistence != .none else { return }
    let entry = Entry(
      space: attempt.space, credential: attempt.credential, proof: attempt.proof,
      version: attempt.isOutsideStorage ? nil : storage.version)
    servers.withLock { servers in
      let server = Server(target)
      var entries = servers[server] ?? []
      entries.removeAll { $0.space == entry.space }
      if entries.count >= AuthenticationMemory.maximumSpaces { entries.removeFirst() }
      entries.append(entry)
      if servers[server] == nil, servers.count >= AuthenticationMemory.maximumServers, let other = servers.keys.first {
        servers[other] = nil
      }
      servers[server] = entries
      count.store(servers.count, ordering: .releasing)
    }
  }

  /// The server has refused a credential.
  func forget(_ attempt: RequestAuthentication.Attempt, at target: HTTPTarget) {
    servers.withLock { servers in
      let server = Server(target)
      servers[server]?.removeAll { $0.space == attempt.space && $0.credential == attempt.credential }
      if servers[server]?.isEmpty == true { servers[server] = nil }
      count.store(servers.count, ordering: .releasing)
    }
  }

  func removeAll() {
    servers.withLock { servers in
      servers = [:]
      count.store(0, ordering: .releasing)
    }
  }

  private func validated(_ entry: Entry, of server: Server) -> Entry? {
    let version = storage.version
    guard let known = entry.version, known != version else { return entry }
    let isThere = storage.credentials(for: entry.space)?.values.contains(entry.credential) ?? false
    servers.withLock { servers in
      guard let index = servers[server]?.firstIndex(where: { $0.proof === entry.proof }) else { return }
      if isThere { servers[server]?[index].version = version } else { servers[server]?.remove(at: index) }
      if servers[server]?.isEmpty == true { servers[server] = nil }
      count.store(servers.count, ordering: .releasing)
    }
    return isThere ? entry : nil
  }
}
