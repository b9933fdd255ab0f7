import NIOCore
import TransferProtocol

/// Why the transfer service can't be asked.
package struct ServiceUnavailable: Error, CustomStringConvertible {
  package let reason: String
  /// Whether there is simply no service, and none was to be started.
  package var isNotRunning = false
  /// Whether something listens there and gives no answer.
  package var isSilent = false
  /// Whether it listened a moment ago.
  var hasListened = false
  /// Whether the connection to it broke.
  var isBroken = false
  /// Whether the program of the service is not found, or belongs to another user.
  package var isNotInstalled = false
  /// Whether the service has a queue on the disk, which may have tasks of this app.
  var hasQueue = false
  package var description: String { "The transfer service is not available: \(reason)." }
}

extension ServiceUnavailable {
  /// Whether another connection may find the service, or the next one, where this one failed.
  package static func isPassing(_ error: any Error) -> Bool {
    switch error {
    case let error as ServiceUnavailable: error.isSilent || error.hasListened || error.isBroken
    case let refusal as Refusal: refusal.reason == .shuttingDown
    // The other side is gone before it has greeted.
    case is IOError, is ChannelError: true
    default: false
    }
  }
}
