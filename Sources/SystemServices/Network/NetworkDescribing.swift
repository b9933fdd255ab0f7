/// Describes networks. The system's is ``SystemNetworks``; tests make their own.
package protocol NetworkDescribing: AnyObject, Sendable {
  /// The traits of the network over which packets go to `destination`, from `source` when that is known already. nil when no
  /// network leads there. May block, though not for long.
  func traits(towards destination: NetworkAddress, from source: NetworkAddress?) -> NetworkTraits?
  /// Calls `changed`, on any thread, after each change until `remove`.
  func add(_ changed: @escaping @Sendable () -> Void) -> NetworkMonitor.Token
  func remove(_ token: NetworkMonitor.Token)
  /// Has a change told of that the system does not report by itself, before this returns. Costs little, and is called before
  /// something is used that is kept for one network.
  func lookForChange()
}
