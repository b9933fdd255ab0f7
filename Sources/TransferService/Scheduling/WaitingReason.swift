import Foundation
import TransferProtocol

/// Why a transfer that could run does not.
package enum WaitingReason: Sendable, Equatable {
  case suspended
  case earliestBegin(Date)
  case retry(because: String, failures: Int)
  /// The server can't send the rest now. A network that comes up does not end the wait.
  case serverBusy(status: Int)
  case noSpace(needed: Int64, available: Int64)
  /// The service's own folders or its queue can't be used.
  case storageUnavailable(because: String)
  /// A server's question waits for the app.
  case needsCredential(because: String)
  case hostBusy(host: String, limit: Int)
  case sessionBusy(limit: Int)
  case serviceBusy(limit: Int)
  case turn
  /// It is over, but its end could not be written to the queue yet.
  case storage

  /// A stable word for programs.
  package var code: String {
    switch self {
    case .suspended: "suspended"
    case .earliestBegin: "earliestBegin"
    case .retry: "retry"
    case .serverBusy: "serverBusy"
    case .noSpace: "noSpace"
    case .storageUnavailable: "storageUnavailable"
    case .needsCredential: "needsCredential"
    case .hostBusy: "hostBusy"
    case .sessionBusy: "sessionBusy"
    case .serviceBusy: "serviceBusy"
    case .turn: "turn"
    case .storage: "storage"
    }
  }

  package var sentence: String {
    switch self {
    case .suspended: "The app suspended it."
    case .earliestBegin: "The app asked not to begin before a date."
    case .retry(let cause, 1): "It failed and will be tried again: \(cause)"
    case .retry(let cause, let failures): "It failed \(failures) times in a row and will be tried again: \(cause)"
    case .serverBusy(let status):
      "The server answered \(status) instead of sending the rest; what has arrived is kept, and it is asked again."
    case .noSpace(let needed, let available):
      needed > 0
        ? "The disk has no room: \(needed) bytes are needed, \(available) are free." : "The disk has no room."
    case .needsCredential(let sentence), .storageUnavailable(let sentence): sentence
    case .hostBusy(let host, let limit): "\(limit) transfers from \(host) are running already, the most at a time."
    case .sessionBusy(let limit): "The session allows \(limit) connections to a host, and they are in use."
    case .serviceBusy(let limit): "\(limit) transfers are running already, the most at a time."
    case .turn: "Its turn comes next."
    case .storage: "It is over, but its end could not be written to the queue yet; that is tried again."
    }
  }

  package func status(nextAttempt: Date? = nil) -> WaitingStatus {
    WaitingStatus(code: code, sentence: sentence, nextAttempt: nextAttempt)
  }
}
