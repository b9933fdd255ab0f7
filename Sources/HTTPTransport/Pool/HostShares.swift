/// How the connections to one host are divided among event loops.
///
/// A host has one loop, whose pool has all connections to it, unless a session may have so many of them that one loop's
/// thread would be the limit: then a server of HTTP/1.1 without TLS has a share of the limit on each of several loops, half of
/// all at most. There is one for each processor, and the app's handlers need processors too. A load stays on the loop that it begins on, with the connections there. Over TLS the server may speak HTTP/2, for which one
/// connection is to serve all loads. See Docs/Decisions/0289.
struct HostShares: Sendable {
  /// With fewer connections for each loop, loads would wait in one share while another one has connections that are idle.
  static let leastConnections = 8

  /// So many loads of a share go on before the next share gets one: loads that come one after the other use one connection.
  static let step = 4

  /// The loops that a divided host has.
  let count: Int
  /// The connections that each of them may have to it.
  let connections: Int

  init(limit: Int, loops: Int) {
    count = max(1, min(loops / 2, limit / HostShares.leastConnections))
    connections = max(1, limit / count)
  }

  func divide(_ key: ConnectionKey) -> Bool { count > 1 && key.scheme == .http && key.proxy == nil && key.quic == nil }

  /// The index of the share that gets the next load: the first one of those with the fewest steps of loads.
  static func place(among loadCounts: some Sequence<Int>) -> Int? {
    var best: (index: Int, steps: Int)?
    for (index, count) in loadCounts.enumerated() where best.map({ count / step < $0.steps }) ?? true {
      best = (index, count / step)
    }
    return best?.index
  }
}
