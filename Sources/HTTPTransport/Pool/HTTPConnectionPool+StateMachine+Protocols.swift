import NIOCore

/// Which protocols servers speak, as far as their connections have shown.
extension HTTPConnectionPool.StateMachine {
  struct KnownProtocols {
    /// Secure servers that chose HTTP/1.1 when they were last connected to.
    private var http1: Set<HostKey> = []
    /// HTTP/2 servers whose streams carried nothing but HTTP when they last said so.
    private var withoutProtocolChange: Set<HostKey> = []

    /// Past so many remembered servers all are forgotten: finding out again costs a little time and nothing else.
    private static let limit = 1_024

    func isHTTP1(_ host: HostKey) -> Bool { http1.contains(host) }

    func offersProtocolChange(_ host: HostKey) -> Bool {
      !http1.contains(host) && !withoutProtocolChange.contains(host)
    }

    mutating func note(_ host: HostKey, isHTTP1: Bool) { KnownProtocols.note(host, isHTTP1, in: &http1) }

    mutating func note(_ host: HostKey, offersProtocolChange: Bool) {
      KnownProtocols.note(host, !offersProtocolChange, in: &withoutProtocolChange)
    }

    private static func note(_ host: HostKey, _ isMember: Bool, in set: inout Set<HostKey>) {
      guard isMember else {
        set.remove(host)
        return
      }
      if set.count >= limit { set = [] }
      set.insert(host)
    }
  }

  /// Whether the server, or the proxy that is asked, chose HTTP/1.1 when it was last connected to.
  func isKnownForHTTP1(_ key: ConnectionKey) -> Bool { protocols.isHTTP1(HostKey(key)) }

  /// RFC 8441 §3: whether streams to this server may carry another protocol; true until the server has said otherwise.
  func mayChangeProtocol(_ key: ConnectionKey) -> Bool {
    mayMultiplex(key) && protocols.offersProtocolChange(HostKey(key))
  }

  /// The server's SETTINGS say whether its streams may carry another protocol.
  mutating func learnedProtocolChange(_ id: ConnectionID, isOffered: Bool) {
    guard let group = connections[id].flatMap({ groups[$0.group] }) else { return }
    protocols.note(HostKey(group.key), offersProtocolChange: isOffered)
    turnAwayProtocolChanges(group.host)
  }

  /// Fails the waiters that want a stream for another protocol, when there will be none.
  mutating func turnAwayProtocolChanges(_ host: HostID) {
    guard let all = hosts[host]?.groups else { return }
    for id in all {
      guard let group = groups[id], !mayChangeProtocol(group.key), group.waiters.contains(where: \.changesProtocol)
      else { continue }
      for waiter in group.waiters where waiter.changesProtocol { act(.fail(waiter.id, .requiresHTTP1)) }
      group.waiters.removeAll(where: \.changesProtocol)
      forgetIfEmpty(id)
    }
  }
}
