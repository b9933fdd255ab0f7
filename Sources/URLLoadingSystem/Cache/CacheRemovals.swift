/// The removals of a cache, by key: a load that found a response and had to wait learns from them whether what it found
/// may still be kept. Not for several threads.
struct CacheRemovals {
  /// Counts the removals up.
  private(set) var moment: UInt64 = 0
  private var latest: [CacheKey: UInt64] = [:]
  /// The last removal of which the key is not known, or that concerned all keys.
  private var latestOfAll: UInt64 = 0

  /// With more keys, all count as removed.
  private static let mostKeys = 512

  /// Notes that responses of a key were removed, replaced or changed.
  mutating func note(_ key: CacheKey) {
    moment &+= 1
    if latest.count >= CacheRemovals.mostKeys {
      latest = [:]
      latestOfAll = moment
    }
    latest[key] = moment
  }

  mutating func noteAll() {
    moment &+= 1
    latest = [:]
    latestOfAll = moment
  }

  /// Whether what was found at `moment` for the key is still what is stored.
  func isCurrent(_ key: CacheKey, since moment: UInt64) -> Bool {
    latestOfAll <= moment && latest[key] ?? 0 <= moment
  }
}
