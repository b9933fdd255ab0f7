/// Connections of a session over which another protocol than HTTP is spoken, kept by the module that speaks it.
package protocol OtherConnections: AnyObject, Sendable {
  /// Closes every connection that is not in use.
  func closeIdleConnections()
  /// Closes everything that is not in use, and what is when its use ends. Waits for a connection fail.
  func shutDown()
}
