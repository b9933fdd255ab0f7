import HTTPSemantics
import Synchronization

/// A load's fetch that other loads of the same URL wait for (RFC 9111 §4). May be used from any thread.
///
/// The load that fetches says when the head has come and when the response is stored. After a cancellation or an error the
/// end of its `CachingHop` is the end of the fetch: the waiting loads go on by themselves then.
final class SharedFetch: Sendable {
  /// A load that waits.
  struct Follower: Sendable {
    /// Whether the load could be answered from a response with this head, once it is stored.
    let isAnswered: @Sendable (StoredHead) -> Bool
    /// Called once: the response is stored, or there is no use in waiting.
    let wake: @Sendable () -> Void
  }

  private struct State {
    var head: StoredHead?
    var isOver = false
    var followers: [Int: Follower] = [:]
    var lastID = 0
  }

  private let key: CacheKey
  private let fetches: SharedFetches
  private let state = Mutex(State())

  /// Larger bodies may take long, and are fetched by each load.
  static let largestBody: Int64 = 1024 * 1024
  /// Loads that may wait for one fetch. Further ones fetch.
  private static let mostFollowers = 1_000

  init(_ key: CacheKey, in fetches: SharedFetches) {
    self.key = key
    self.fetches = fetches
  }

  // MARK: The load that fetches

  /// The head has come, and the response is about to be stored.
  func announce(_ head: StoredHead) {
    fetches.note(key, isUseful: true)
    let refused = state.withLock { state -> [Int: Follower] in
      state.head = head
      let refused = state.followers.filter { !$0.value.isAnswered(head) }
      for id in refused.keys { state.followers[id] = nil }
      return refused
    }
    for follower in refused.values { follower.wake() }
  }

  /// The response is stored, or will not be.
  /// - Parameter isUseful: Whether later loads of the URL should wait for each other; nil when that is not known.
  func end(isUseful: Bool? = nil) {
    let followers = state.withLock { state -> [Int: Follower]? in
      defer {
        state.isOver = true
        state.followers = [:]
      }
      return state.isOver ? nil : state.followers
    }
    guard let followers else { return }
    fetches.remove(self, of: key)
    if let isUseful { fetches.note(key, isUseful: isUseful) }
    for follower in followers.values { follower.wake() }
  }

  // MARK: The loads that wait

  /// - Returns: a number for `leave`; nil when there is no use in waiting.
  func join(_ follower: Follower) -> Int? {
    state.withLock { state in
      guard !state.isOver, state.followers.count < SharedFetch.mostFollowers,
        state.head.map(follower.isAnswered) ?? true
      else { return nil }
      state.lastID += 1
      state.followers[state.lastID] = follower
      return state.lastID
    }
  }

  /// The longest times that a load waits.
  var waitLimits: SharedFetches.WaitLimits { fetches.waitLimits }

  /// Whether a response is on its way that will be stored.
  var hasHead: Bool { state.withLock { $0.head != nil } }

  /// Keeps later loads from waiting, until a response of use has come: then for another fetch than this one. The loads
  /// that wait stay.
  func reportSlow() {
    fetches.note(key, isUseful: false)
    fetches.remove(self, of: key)
  }

  /// How many loads wait. For tests.
  var followerCount: Int { state.withLock { $0.followers.count } }

  func leave(_ id: Int) { state.withLock { $0.followers[id] = nil } }
}
