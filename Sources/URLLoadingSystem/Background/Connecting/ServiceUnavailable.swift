/// Why the transfer service can't be asked.
package struct ServiceUnavailable: Error, CustomStringConvertible {
  package let reason: String
  /// Whether there is simply no service, and none was to be started.
  package var isNotRunning = false
  /// Whether something listens there and gives no answer.
  var isSilent = false
  /// Whether it listened a moment ago.
  var hasListened = false
  /// Whether the service has a queue on the disk, which may have tasks of this app.
  var hasQueue = false
  package var description: String { "The transfer service is not available: \(reason)." }
}
