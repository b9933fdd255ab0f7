/// The conditions by which work that can wait is put off. nil stands for what no service of this machine tells.
package struct MachineConditions: Sendable, Equatable {
  /// Whether the internet can be reached, a portal's page aside.
  package var isConnected: Bool?
  /// Of the network that new connections go over.
  package var network: NetworkTraits?
  package var isOnBattery: Bool?
  package var isBatteryLow: Bool?
  /// Whether the user has not touched the machine for a while.
  package var isUserIdle: Bool?
  /// Processes that compute or wait for a disk, on average of a minute, for each processor.
  package var load: Double?

  package init() {}

  /// Whether no service tells anything.
  package var isUnknown: Bool {
    isConnected == nil && network == nil && isOnBattery == nil && isBatteryLow == nil && isUserIdle == nil
  }

  /// The facts that no service tells, for the log.
  package var unknown: [String] {
    [
      isConnected == nil || network == nil ? "the network (NetworkManager)" : nil,
      isOnBattery == nil ? "the power supply (UPower)" : nil, isUserIdle == nil ? "the user's activity (logind)" : nil,
    ].compactMap { $0 }
  }
}
