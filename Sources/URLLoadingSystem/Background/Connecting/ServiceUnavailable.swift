/// Why the transfer service can't be asked.
package struct ServiceUnavailable: Error, CustomStringConvertible {
  package let reason: String
  /// Whether there is simply no service, and none was to be started.
  package var isNotRunning = false
  package var description: String { "The transfer service is not available: \(reason)." }
}
