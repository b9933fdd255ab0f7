/// A policy's demands on one host's connections.
package struct HandshakeLimits: Sendable, Equatable {
  /// The version's number on the wire (RFC 8446 §4.1.2); nil demands nothing.
  package var minimumVersion: UInt16?
  /// Only suites whose keys are worthless to who steals the server's key later.
  package var requiresForwardSecrecy = false

  package init(minimumVersion: UInt16? = nil, requiresForwardSecrecy: Bool = false) {
    self.minimumVersion = minimumVersion
    self.requiresForwardSecrecy = requiresForwardSecrecy
  }
}
