import Foundation
import SystemServices

/// Moments at which a test can have the service killed, as by a power failure. Debug builds only: the environment
/// variable `URLSESSIOND_CRASH_AT` names one, and `URLSESSIOND_CRASH_MARKER` a file that is made when it happens, so
/// that it happens once. Without a marker's name, the file is `crashed-<moment>` in the service's state folder.
package enum Failpoint: String, CaseIterable, Sendable {
  case beforeFirstByte
  case midBody
  case afterLastByteBeforeRename
  case afterRenameBeforeEvent
  case afterEventBeforeAcknowledgement

  /// Whether this moment was chosen and has not come yet.
  func isArmed(state: String) -> Bool {
    #if DEBUG
    return Failpoint.chosen == self && access(marker(state: state), F_OK) != 0
    #else
    return false
    #endif
  }

  /// Ends the process on the spot when this moment was chosen.
  func pass(state: String) {
    #if DEBUG
    guard Failpoint.chosen == self else { return }
    // O_EXCL: of two threads, and of two lives, only one gets here.
    let descriptor = open(marker(state: state), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    kill(getpid(), SIGKILL)
    #endif
  }

  /// Ends the process whenever a load begins whose URL contains the text that `URLSESSIOND_CRASH_ON` names.
  static func pass(loading url: String) {
    #if DEBUG
    guard let text = fatalText, url.contains(text) else { return }
    // As a fault of its own does, and not as another process.
    abort()
    #endif
  }

  #if DEBUG
  private static let fatalText = ProcessInfo.processInfo.environment["URLSESSIOND_CRASH_ON"].flatMap {
    $0.isEmpty ? nil : $0
  }
  private static let chosen = ProcessInfo.processInfo.environment["URLSESSIOND_CRASH_AT"]
    .flatMap { Failpoint(rawValue: $0) }
  private static let markerPath = ProcessInfo.processInfo.environment["URLSESSIOND_CRASH_MARKER"]

  private func marker(state: String) -> String { Failpoint.markerPath ?? "\(state)/crashed-\(rawValue)" }
  #endif
}
