import Foundation
import TransferProtocol

/// Why a task of a background session does not run. `urlsession why` shows the same. Not part of Apple's API.
public struct TransferWaitingReason: Sendable, Hashable, CustomStringConvertible {
  /// The kind of reason. Newer services may have others.
  public enum Kind: Sendable, Hashable {
    /// The transfer service does not have the task yet.
    case handingOver
    /// There is no network that the task may use. Told of tasks of other sessions alone, by ``URLSession/transferEvents``.
    case network
    /// The app has suspended the task.
    case suspended
    /// The user has paused it (`urlsession pause`).
    case pausedByUser
    /// It ran at several crashes of the transfer service, one after the other. It goes on when the user resumes it
    /// (`urlsession resume`), or when the app suspends and resumes the task; the time for the resource goes on.
    case setAside
    /// `earliestBeginDate` has not come.
    case earliestBegin
    /// `earliestBeginDate` has come, and the delegate is asked how the task begins.
    case delayedRequest
    /// It failed, and is tried again after a pause.
    case retry
    /// The server can't serve now.
    case serverBusy
    /// The disk has no room for what is still to come.
    case noSpace
    /// The app has as many bytes on the disk as it may, and takes none of them.
    case quota
    /// The transfer service's folders or its queue can't be used.
    case storageUnavailable
    /// Its request or its file is sealed, and the keychain with the key can't be read now.
    case keychain
    /// Its request is being changed, and it goes on with the new one.
    case requestChange
    /// A server asks for a credential, or for a decision about it.
    case needsCredential
    /// As many transfers of its host run as may.
    case hostBusy
    /// As many connections to its host are in use as the session allows.
    case sessionBusy
    /// As many transfers run as may.
    case serviceBusy
    /// Its turn comes next.
    case turn
    /// It can wait (`isDiscretionary`), and the conditions of the machine are against it, or are not known yet.
    case discretionary
    /// It can wait, and received too slowly.
    case poorThroughput
    /// Its server sends too slowly while others wait.
    case slow
    /// It has run for a while and gave way to others.
    case gaveWay
    /// It ran when the transfer service crashed; those that did are tried one after the other.
    case trial
    /// It is over, and its end is being written.
    case finishing
    /// A reason of a newer service, by its code.
    case other(String)
  }

  /// The kind of reason.
  public let kind: Kind
  /// A sentence for people, in English.
  public let sentence: String
  /// When it is tried again, by the wall clock; nil when that depends on something else.
  public let nextAttempt: Date?

  /// The sentence.
  public var description: String { sentence }

  init(_ kind: Kind, _ sentence: String, nextAttempt: Date? = nil) {
    (self.kind, self.sentence, self.nextAttempt) = (kind, sentence, nextAttempt)
  }

  package init(_ status: WaitingStatus) {
    self.init(Kind(code: status.code), status.sentence, nextAttempt: status.nextAttempt)
  }

  static let handingOver = TransferWaitingReason(.handingOver, "The transfer service does not have the task yet.")
  static func handingOver(because sentence: String) -> TransferWaitingReason {
    TransferWaitingReason(.handingOver, "\(handingOver.sentence) \(sentence)")
  }
  static let network = TransferWaitingReason(.network, "There is no network that the task may use.")
}

extension TransferWaitingReason.Kind {
  package init(code: String) {
    self =
      switch code {
      case "suspended": .suspended
      case "pausedByUser": .pausedByUser
      case "setAside": .setAside
      case "earliestBegin": .earliestBegin
      case "delayedRequest": .delayedRequest
      case "retry": .retry
      case "serverBusy": .serverBusy
      case "noSpace": .noSpace
      case "quota": .quota
      case "storageUnavailable": .storageUnavailable
      case "keychain": .keychain
      case "requestChange": .requestChange
      case "needsCredential": .needsCredential
      case "hostBusy": .hostBusy
      case "sessionBusy": .sessionBusy
      case "serviceBusy": .serviceBusy
      case "turn": .turn
      case "conditionsUnknown": .discretionary
      case "poorThroughput": .poorThroughput
      case "slow": .slow
      case "gaveWay": .gaveWay
      case "trial": .trial
      case "storage": .finishing
      default: code.hasPrefix("discretionary.") ? .discretionary : .other(code)
      }
  }
}

extension URLSessionTask {
  /// Why the task does not run. nil while it runs, before its first `resume()`, once it is over, outside background
  /// sessions, and where the transfer service is older than protocol version 4.
  ///
  /// The transfer service tells of changes while the app is connected to it; reasons that come from other transfers, such as
  /// that of a turn, a few seconds late. Changes are told through Observation, and by ``URLSession/transferEvents``.
  public final var reasonForWaiting: TransferWaitingReason? {
    read(\.reasonForWaiting) { $0.phase == .started ? $0.waitingReason : nil }
  }

  /// The transfer service has said why it does not run the task; nil: it runs it.
  func noteWaiting(_ reason: TransferWaitingReason?) {
    let hasChanged = change(\.reasonForWaiting) { state in
      defer { state.waitingReason = reason }
      return state.waitingReason != reason
    }
    guard hasChanged else { return }
    tellConsumers { reason.map { .waiting($0) } ?? .running }
  }
}
