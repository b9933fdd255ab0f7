import Foundation
import HTTPSemantics
import Synchronization
import SystemServices

/// The hosts that sessions of one kind talk to over TLS only, because they said so (RFC 6797). Usable from any thread.
///
/// The app's own store is also a file. It is read before the first request of http leaves, and written behind the
/// responses that change it; several processes of the app add to it. The transfer service reads that file, and writes
/// none: what it hears itself is in memory.
package final class HSTSStore: Sendable {
  /// One policy that a host stated.
  private struct Note: Sendable {
    let policy: StrictTransportSecurity
    let host: String
    let time: Int64
  }

  private struct State: Sendable {
    var hosts = KnownHSTSHosts()
    /// The hosts of responses, where that is not written to the file.
    var heard = KnownHSTSHosts()
    /// Whether the hosts of the file are among them, or were forgotten before they came.
    var wasRead = false
    /// The version of the file that was read last; nil where none was.
    var version: HSTSFile.Version?
    /// When the file of another process was looked at last.
    var lastLook: ContinuousClock.Instant?
    /// The notes that are not in the file yet.
    var unwritten: [Note] = []
    /// How often all hosts were forgotten: what was noted before does not reach the file any more.
    var generation = 0
    /// Whether the file is to be removed before the next notes are written.
    var removesFile = false
    var isWriting = false
    /// Servers whose certificates only the app vouches for: what they say does not count (RFC 6797 §8.1).
    var doubted: Set<Server> = []
    /// Whether there were too many of them to tell apart. Then no server's word counts any more.
    var doubtsAll = false
  }

  private struct Server: Hashable {
    let host: String
    let port: Int
  }

  /// The app's store.
  static let shared = HSTSStore(file: HSTSFile.ofApp)

  private let state = Mutex(State())
  private let file: HSTSFile?
  private let writesFile: Bool
  private let pause: Duration
  private let isFileRead: Atomic<Bool>
  private let hostCount = Atomic<Int>(0)

  /// - Parameter file: nil keeps everything in memory.
  init(file: HSTSFile? = nil) {
    self.file = file
    writesFile = file != nil
    pause = .zero
    isFileRead = Atomic(file == nil)
  }

  /// A store that reads the file of another process.
  ///
  /// - Parameter pause: between two looks at it. That process writes its file a while after it has heard of a host.
  init(reading file: HSTSFile, pause: Duration = .milliseconds(100)) {
    self.file = file
    self.pause = pause
    writesFile = false
    isFileRead = Atomic(false)
  }

  /// The file of the hosts; nil where they are in memory only.
  var path: String? { file?.path }

  /// The file of another process may have changed: where it has, it is read again before the next request of http is judged.
  package func readAgain() {
    guard file != nil, !writesFile else { return }
    let isDue = state.withLock { state in
      if let last = state.lastLook, ContinuousClock.now - last < pause { return false }
      state.wasRead = false
      return true
    }
    if isDue { isFileRead.store(false, ordering: .releasing) }
  }

  /// Whether requests can be judged without waiting for the file.
  var isRead: Bool { isFileRead.load(ordering: .acquiring) }

  /// Whether no host is known, so that no request is to be looked at.
  var isEmpty: Bool { hostCount.load(ordering: .acquiring) == 0 }

  /// Reads the file, once. One that can't be read counts as empty, and is replaced by the next change.
  func read() async {
    guard let file, !isRead else { return }
    let known = state.withLock { $0.version }
    let found = await file.read(unless: known)
    change { state in
      guard !state.wasRead else { return }
      state.wasRead = true
      state.lastLook = .now
      switch found {
      case .unchanged: break
      // The hosts that are known stay.
      case .unreadable: state.version = nil
      case .read(let hosts, let version): (state.hosts, state.version) = (hosts, version)
      }
      for note in state.unwritten { _ = state.hosts.note(note.policy, from: note.host, at: note.time) }
    }
    // Not before the hosts are there: requests are judged from now on.
    isFileRead.store(true, ordering: .releasing)
  }

  /// The URL to load instead of one of http; nil where it may be loaded as it is.
  ///
  /// - Parameter now: seconds since 1970.
  func secured(_ url: URIReference, at now: Int64) -> URIReference? {
    guard !isEmpty else { return nil }
    return state.withLock { $0.hosts.secured(url, at: now) ?? $0.heard.secured(url, at: now) }
  }

  /// Whether requests of http to `host` are loaded over TLS, as far as the file was read.
  ///
  /// - Parameter now: seconds since 1970.
  func contains(_ host: String, at now: Int64) -> Bool {
    guard !isEmpty else { return false }
    return state.withLock { $0.hosts.contains(host, at: now) || $0.heard.contains(host, at: now) }
  }

  /// Notes what a response over TLS says.
  ///
  /// - Parameter port: Of the server that says it, for all ports of the host.
  func note(_ policy: StrictTransportSecurity, from host: String, port: Int = 443, at now: Int64) {
    let isNew = change { state in
      guard !state.doubtsAll, !state.doubted.contains(Server(host: host, port: port)) else { return false }
      guard file == nil || writesFile else {
        _ = state.heard.note(policy, from: host, at: now)
        return false
      }
      guard state.hosts.note(policy, from: host, at: now) else { return false }
      if writesFile { state.unwritten.append(Note(policy: policy, host: host, time: now)) }
      return true
    }
    if isNew { write() }
  }

  /// Says whether the certificates of a server are trusted by the rules, and not only by the app.
  func judge(_ host: String, port: Int, isTrusted: Bool) {
    let server = Server(host: host, port: port)
    state.withLock { state in
      if isTrusted {
        state.doubted.remove(server)
      } else if state.doubted.count < HSTSStore.maximumDoubted || state.doubted.contains(server) {
        state.doubted.insert(server)
      } else {
        // So that a session that meets many such servers does not grow with them. None is forgotten: an app that vouches for
        // so many has no use for what their kind says.
        state.doubtsAll = true
      }
    }
  }

  private static let maximumDoubted = 10_000

  /// Forgets all hosts, also in the file.
  func removeAll() {
    change { state in
      state.hosts.removeAll()
      state.heard.removeAll()
      state.wasRead = true
      state.version = nil
      state.unwritten.removeAll()
      state.generation += 1
      state.removesFile = writesFile
    }
    guard writesFile else { return }
    isFileRead.store(true, ordering: .releasing)
    write()
  }

  @discardableResult
  private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    state.withLock { state in
      defer { hostCount.store(state.hosts.count + state.heard.count, ordering: .releasing) }
      return body(&state)
    }
  }

  // MARK: The file

  /// One turn of the only task that writes the file.
  private enum Turn: Sendable {
    case remove
    case add([Note], generation: Int)
  }

  /// Brings the file up to date; what changes meanwhile comes with the next turn.
  private func write() {
    guard let file, writesFile else { return }
    let begins = state.withLock { state in
      guard !state.isWriting else { return false }
      state.isWriting = true
      return true
    }
    guard begins else { return }
    Task.detached {
      await self.read()
      while let turn = self.nextTurn() {
        switch turn {
        case .remove:
          guard await file.remove() else { return self.removeLater() }
        case .add(let notes, let generation):
          await file.change {
            self.state.withLock { $0.generation } == generation
          } by: { hosts in
            for note in notes { _ = hosts.note(note.policy, from: note.host, at: note.time) }
          }
        }
      }
    }
  }

  /// The file could not be removed. It is tried again before the next notes are written.
  private func removeLater() {
    state.withLock { state in
      state.removesFile = true
      state.isWriting = false
    }
  }

  private func nextTurn() -> Turn? {
    state.withLock { state in
      if state.removesFile {
        state.removesFile = false
        return .remove
      }
      guard !state.unwritten.isEmpty else {
        state.isWriting = false
        return nil
      }
      defer { state.unwritten = [] }
      return .add(state.unwritten, generation: state.generation)
    }
  }
}
