import NIOCore
import Synchronization

/// The fetches of a cache's loads that others may wait for. May be used from any thread.
final class SharedFetches: Sendable {
  enum Part {
    /// The load fetches, and tells the others.
    case lead(SharedFetch)
    case follow(SharedFetch)
    /// The load fetches for itself.
    case alone
  }

  /// The longest times that a load waits for another one's fetch.
  struct WaitLimits {
    /// While not even the head of the response is there.
    var head = TimeAmount.milliseconds(1_500)
    /// For head and body together.
    var whole = TimeAmount.seconds(5)
  }

  private struct State {
    /// Each goes with the end of its fetch, or when that turns out to be slow.
    var fetches: [CacheKey: SharedFetch] = [:]
    /// The keys whose last response was of no use to other loads: waiting would only cost them time.
    var useless: Set<CacheKey> = []
    var waitLimits = WaitLimits()
  }

  private let state = Mutex(State())

  private static let mostUseless = 1_024

  /// Changed by tests only.
  var waitLimits: WaitLimits {
    get { state.withLock { $0.waitLimits } }
    set { state.withLock { $0.waitLimits = newValue } }
  }

  /// The part of a load that has found nothing stored.
  /// - Parameter mayLead: Whether its response would be stored.
  func part(for key: CacheKey, mayLead: Bool) -> Part {
    state.withLock { state in
      guard state.useless.isEmpty || !state.useless.contains(key) else { return .alone }
      if let fetch = state.fetches[key] { return .follow(fetch) }
      guard mayLead else { return .alone }
      let fetch = SharedFetch(key, in: self)
      state.fetches[key] = fetch
      return .lead(fetch)
    }
  }

  func note(_ key: CacheKey, isUseful: Bool) {
    state.withLock { state in
      guard !isUseful else {
        if !state.useless.isEmpty { state.useless.remove(key) }
        return
      }
      if state.useless.count >= SharedFetches.mostUseless { state.useless = [] }
      state.useless.insert(key)
    }
  }

  /// Called by a fetch that ends or is slow.
  func remove(_ fetch: SharedFetch, of key: CacheKey) {
    state.withLock { if $0.fetches[key] === fetch { $0.fetches[key] = nil } }
  }
}
