import Foundation
import SystemServices

/// The address at which each of the latest hosts was reached last, so that two names of one machine share its limit. Learnt from
/// connections alone: no name is looked up for it. So each is forgotten after a while, since the name may lead elsewhere by
/// then. A value.
struct HostAddresses: Sendable {
  /// Of how many hosts they are kept.
  static let limit = 256
  /// Seconds for which an address is kept after the host was reached there last.
  static let lifetime: TimeInterval = 300

  private struct Entry {
    var address: String
    var reached: BootInstant
  }

  private var entries: [String: Entry] = [:]
  /// By the first time that each was reached, for forgetting the oldest.
  private var order: [String] = []
  /// None has to be forgotten before.
  private var nextEnd: BootInstant?

  subscript(host: String) -> String? { entries[host]?.address }

  mutating func reached(_ host: String, at address: String, at now: BootInstant) {
    if nextEnd == nil { nextEnd = now + HostAddresses.lifetime }
    guard entries.updateValue(Entry(address: address, reached: now), forKey: host) == nil else { return }
    order.append(host)
    if order.count > HostAddresses.limit { entries[order.removeFirst()] = nil }
  }

  /// Forgets those that are too old.
  ///
  /// - Parameter isInUse: whether there are transfers of the host: their connections lead there still.
  mutating func forgetOld(at now: BootInstant, except isInUse: (String) -> Bool) {
    guard let end = nextEnd, now >= end else { return }
    nextEnd = nil
    for (host, entry) in entries {
      var reached = entry.reached
      if now - reached >= HostAddresses.lifetime {
        guard isInUse(host) else {
          entries[host] = nil
          continue
        }
        reached = now
        entries[host]?.reached = now
      }
      let end = reached + HostAddresses.lifetime
      nextEnd = nextEnd.map { min($0, end) } ?? end
    }
    order.removeAll { entries[$0] == nil }
  }
}
