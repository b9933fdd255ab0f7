import Synchronization
import TransferProtocol
import URLLoadingSystem

/// One loading environment for each set of options that is in use, and for the last few that were.
final class LoadingEnvironments: Sendable {
  private struct Entry {
    let environment: LoadingEnvironment
    var users = 0
    var lastUse: UInt64
  }

  private struct State {
    var entries: [SessionOptions: Entry] = [:]
    var uses: UInt64 = 0
  }

  private let state = Mutex(State())
  /// How many environments are kept, except that those in use always are.
  private let limit: Int
  private let makeConfiguration: @Sendable (SessionOptions) -> LoadConfiguration

  init(limit: Int = 16, makeConfiguration: @escaping @Sendable (SessionOptions) -> LoadConfiguration) {
    self.limit = limit
    self.makeConfiguration = makeConfiguration
  }

  /// The environment for `options`. Call `release` once for each call of this.
  func take(for options: SessionOptions) -> LoadingEnvironment {
    state.withLock { state in
      state.uses += 1
      var entry =
        state.entries[options]
        ?? Entry(environment: LoadingEnvironment(makeConfiguration(options)), lastUse: state.uses)
      entry.users += 1
      entry.lastUse = state.uses
      state.entries[options] = entry
      return entry.environment
    }
  }

  /// The caller's loads have ended. Closes the environments that were not used for longest, down to the limit.
  func release(_ options: SessionOptions) {
    let surplus = state.withLock { state -> [LoadingEnvironment] in
      state.entries[options]?.users -= 1
      let excess = state.entries.count - limit
      guard excess > 0 else { return [] }
      let oldest = state.entries.filter { $0.value.users == 0 }.sorted { $0.value.lastUse < $1.value.lastUse }
        .prefix(excess)
      for (options, _) in oldest { state.entries[options] = nil }
      return oldest.map(\.value.environment)
    }
    for environment in surplus { environment.transport.shutDown() }
  }

  func shutDown() {
    let environments = state.withLock { $0.entries.values.map(\.environment) }
    for environment in environments { environment.transport.shutDown() }
  }
}
