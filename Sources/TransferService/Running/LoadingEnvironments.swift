import Synchronization
import TransferProtocol
import URLLoadingSystem

/// One loading environment for each session and its options that is in use, and for the last few that were.
///
/// Sessions share none: a connection may have been opened because of an app's word that its server is to be trusted, and
/// may be authenticated for a user.
final class LoadingEnvironments: Sendable {
  private struct Entry {
    let environment: LoadingEnvironment
    var users = 0
    var lastUse: UInt64
  }

  private struct Key: Hashable {
    let session: SessionID
    let options: SessionOptions
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var uses: UInt64 = 0
  }

  private let state = Mutex(State())
  /// How many environments are kept, except that those in use always are.
  private let limit: Int
  private let makeConfiguration: @Sendable (SessionOptions, URLCredentialStorage) -> LoadConfiguration

  init(
    limit: Int = 16,
    makeConfiguration: @escaping @Sendable (SessionOptions, URLCredentialStorage) -> LoadConfiguration
  ) {
    self.limit = limit
    self.makeConfiguration = makeConfiguration
  }

  /// The environment of a session with `options`. Call `release` once for each call of this.
  func take(
    for options: SessionOptions, of session: SessionID, _ credentials: URLCredentialStorage
  ) -> LoadingEnvironment {
    let key = Key(session: session, options: options)
    return state.withLock { state in
      state.uses += 1
      var entry =
        state.entries[key]
        ?? Entry(environment: LoadingEnvironment(makeConfiguration(options, credentials)), lastUse: state.uses)
      entry.users += 1
      entry.lastUse = state.uses
      state.entries[key] = entry
      return entry.environment
    }
  }

  /// The caller's loads have ended. Closes the environments that were not used for longest, down to the limit.
  func release(_ options: SessionOptions, of session: SessionID) {
    let key = Key(session: session, options: options)
    let surplus = state.withLock { state -> [LoadingEnvironment] in
      state.entries[key]?.users -= 1
      let excess = state.entries.count - limit
      guard excess > 0 else { return [] }
      let oldest = state.entries.filter { $0.value.users == 0 }.sorted { $0.value.lastUse < $1.value.lastUse }
        .prefix(excess)
      for (key, _) in oldest { state.entries[key] = nil }
      return oldest.map(\.value.environment)
    }
    for environment in surplus { environment.transport.shutDown() }
  }

  /// Closes what the session's loads have used: its connections and what servers let in are of its credentials.
  func forget(_ session: SessionID) {
    let gone = state.withLock { state in
      let keys = state.entries.filter { $0.key.session == session && $0.value.users == 0 }.map(\.key)
      return keys.compactMap { state.entries.removeValue(forKey: $0)?.environment }
    }
    for environment in gone { environment.transport.shutDown() }
  }

  func shutDown() {
    let environments = state.withLock { $0.entries.values.map(\.environment) }
    for environment in environments { environment.transport.shutDown() }
  }
}
