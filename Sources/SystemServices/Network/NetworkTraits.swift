/// What a network is, as far as apps choose by it. Empty for one without limits, and for this machine itself.
package struct NetworkTraits: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A mobile network.
  package static let cellular = NetworkTraits(rawValue: 1 << 0)
  /// Somebody pays by the byte, or is believed to.
  package static let expensive = NetworkTraits(rawValue: 1 << 1)
  /// The user has asked to be sparing with it.
  package static let constrained = NetworkTraits(rawValue: 1 << 2)
}

/// An IP address as the kernel has it: 4 or 16 bytes.
package struct NetworkAddress: Hashable, Sendable {
  package let bytes: [UInt8]
  /// The index of the interface that a link-local address belongs to; 0 for none.
  package let interface: UInt32

  package init(_ bytes: [UInt8], interface: UInt32 = 0) {
    self.bytes = bytes
    self.interface = interface
  }
}

/// Knows what networks are. The system's is ``SystemNetworks``; tests make their own.
package protocol NetworkDescribing: AnyObject, Sendable {
  /// What the network is over which packets go to `destination`, from `source` when that is known already. nil when no
  /// network leads there. May block, though not for long.
  func traits(towards destination: NetworkAddress, from source: NetworkAddress?) -> NetworkTraits?
  /// Calls `changed`, on any thread, after each change until `remove`. nil when nobody tells of changes.
  func add(_ changed: @escaping @Sendable () -> Void) -> NetworkMonitor.Token?
  func remove(_ token: NetworkMonitor.Token)
}
