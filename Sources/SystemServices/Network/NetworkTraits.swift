/// The properties of a network by which apps choose. Empty for one without limits, and for this machine itself.
package struct NetworkTraits: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A mobile network.
  package static let cellular = NetworkTraits(rawValue: 1 << 0)
  /// Traffic costs money, or is believed to.
  package static let expensive = NetworkTraits(rawValue: 1 << 1)
  /// The user has asked apps to use it little (Low Data Mode).
  package static let constrained = NetworkTraits(rawValue: 1 << 2)
}
