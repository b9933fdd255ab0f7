import Foundation
import TransferProtocol

/// Why a transfer that could run does not.
package enum WaitingReason: Sendable, Equatable {
  case suspended
  /// The user has paused it.
  case held
  /// The service crashed so often while it ran.
  case setAside(crashes: Int)
  case earliestBegin(Date)
  /// Its date has come, and its app is asked how it begins.
  case delayedRequest
  case retry(because: String, failures: Int)
  /// The server can't answer the request now. A network that comes up does not end the wait.
  /// - Parameter keepsBytes: Whether a part of the transfer is kept, and the request was for the rest.
  case serverBusy(status: Int, keepsBytes: Bool = false)
  case noSpace(needed: Int64, available: Int64)
  /// The app has as many bytes on the disk as it may.
  /// - Parameter promised: Bytes that its running transfers expect still.
  case quota(used: Int64, promised: Int64 = 0, limit: Int64)
  /// The service's own folders or its queue can't be used.
  case storageUnavailable(because: String)
  /// Its request or its file is sealed, and the keychain with the key can't be read now.
  case keychain(because: String)
  /// Another request is being written to the queue.
  case requestChange
  /// A server's question waits for the app.
  case needsCredential(because: String)
  case hostBusy(host: String, limit: Int)
  case sessionBusy(limit: Int)
  case serviceBusy(limit: Int)
  case turn
  /// It can wait, and a condition of the machine is against it.
  case discretionary(DiscretionaryRule.Bar)
  /// It can wait, and the conditions of the machine are being read.
  case conditionsUnknown
  /// It can wait, and received too slowly.
  case poorThroughput
  /// It is over, but its end could not be written to the queue yet.
  case storage
  /// Few bytes came while others waited.
  case slow(limit: Int)
  /// It has run for a while, and others wait.
  case gaveWay
  /// The service crashed, and what ran then is tried one by one.
  case trial

  /// A stable word for programs.
  package var code: String {
    switch self {
    case .suspended: "suspended"
    case .held: "pausedByUser"
    case .setAside: "setAside"
    case .earliestBegin: "earliestBegin"
    case .delayedRequest: "delayedRequest"
    case .retry: "retry"
    case .serverBusy: "serverBusy"
    case .noSpace: "noSpace"
    case .quota: "quota"
    case .storageUnavailable: "storageUnavailable"
    case .keychain: "keychain"
    case .requestChange: "requestChange"
    case .needsCredential: "needsCredential"
    case .hostBusy: "hostBusy"
    case .sessionBusy: "sessionBusy"
    case .serviceBusy: "serviceBusy"
    case .turn: "turn"
    case .discretionary(let bar): "discretionary.\(bar.rawValue)"
    case .conditionsUnknown: "conditionsUnknown"
    case .poorThroughput: "poorThroughput"
    case .storage: "storage"
    case .slow: "slow"
    case .gaveWay: "gaveWay"
    case .trial: "trial"
    }
  }

  package var sentence: String {
    switch self {
    case .suspended: "The app suspended it."
    case .held: "It is paused by the user."
    case .setAside(let crashes):
      "It ran at \(crashes) crashes of the service and is set aside; `urlsession resume` or `urlsession retry` starts it again."
    case .earliestBegin: "The app asked not to begin before a date."
    case .delayedRequest: "Its date has come, and the app is asked how it begins."
    case .retry(let cause, 1): "It failed and will be tried again: \(cause)"
    case .retry(let cause, let failures): "It failed \(failures) times in a row and will be tried again: \(cause)"
    case .serverBusy(let status, false): "The server answered \(status), and is asked again."
    case .serverBusy(let status, true):
      "The server answered \(status) when the transfer was to go on; its first part is kept, and it is asked again."
    case .noSpace(let needed, let available):
      needed > 0
        ? "The disk has no room: \(needed) bytes are needed, \(available) are free." : "The disk has no room."
    case .quota(let used, 0, let limit):
      "The app has \(used) bytes of downloads on the disk that it has not taken, and its quota is \(limit)."
    case .quota(let used, let promised, let limit):
      "The app has \(used) bytes of downloads on the disk that it has not taken, its running transfers expect \(promised) more, "
        + "and its quota is \(limit)."
    case .needsCredential(let sentence), .storageUnavailable(let sentence), .keychain(let sentence): sentence
    case .requestChange: "Its request is being changed, and it goes on with the new one."
    case .hostBusy(let host, let limit): "\(limit) transfers from \(host) are running already, the most at a time."
    case .sessionBusy(let limit): "The session allows \(limit) connections to a host, and they are in use."
    case .serviceBusy(let limit): "\(limit) transfers are running already, the most at a time."
    case .turn: "Its turn comes next."
    case .discretionary(let bar): "It can wait, and does so while \(bar.clause)."
    case .conditionsUnknown: "It can wait, and the conditions of the machine are being read."
    case .poorThroughput: "It can wait, and received too slowly; it goes on later."
    case .storage: "It is over, but its end could not be written to the queue yet; that is tried again."
    case .slow(let limit):
      "Its server sends too slowly while other transfers wait; \(limit) such transfers run at a time."
    case .gaveWay: "It has run for a while and gave way to other transfers; it goes on when its turn comes."
    case .trial: "The service crashed; the transfers that ran then are tried again one by one before others start."
    }
  }

  package func status(nextAttempt: Date? = nil) -> WaitingStatus {
    WaitingStatus(code: code, sentence: sentence, nextAttempt: nextAttempt)
  }
}
