/// How the network is asked to treat a connection's packets: the DSCP of RFC 2474 on the wire, and the priority of the
/// machine's own queue.
package struct TrafficClass: Hashable, Sendable {
  /// Six bits.
  package var dscp: UInt8
  /// 0…6, for `SO_PRIORITY`: these need no privilege.
  package var priority: UInt8

  package init(dscp: UInt8, priority: UInt8) {
    self.dscp = dscp
    self.priority = priority
  }

  package static let bestEffort = TrafficClass(dscp: 0, priority: 0)
}
