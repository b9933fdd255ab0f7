/// A message of the service that answers no request.
///
/// Only `event` is durable: it is sent again, to the next process that attaches, until it is acknowledged. The others describe
/// the moment; some may be left out when the app reads slowly.
package enum ServicePush: Sendable, Equatable {
  case event(SequencedEvent)
  /// Every task of the session is over and every event acknowledged, after a reattachment that promised this.
  case eventsFinished(SessionReference)
  case progress(DownloadProgress)
  case sent(UploadProgress)
  case responseReceived(ResponseReceived)
  case resumedAtOffset(ResumedAtOffset)
  case challenge(ChallengeQuestion)
  case delayedRequest(DelayedRequestQuestion)
  case waiting(WaitingTasks)
  /// Sent to connections that `watch`.
  case transferChanged(TransferStatus)
  /// Sent only to an app whose request announces open files.
  case sendFiles(FilesWanted)
  /// A push of a newer service.
  case unknown(String)

  var name: String {
    switch self {
    case .event: "event"
    case .eventsFinished: "eventsFinished"
    case .progress: "progress"
    case .sent: "sent"
    case .responseReceived: "responseReceived"
    case .resumedAtOffset: "resumedAtOffset"
    case .challenge: "challenge"
    case .delayedRequest: "delayedRequest"
    case .waiting: "waiting"
    case .transferChanged: "transferChanged"
    case .sendFiles: "sendFiles"
    case .unknown(let name): name
    }
  }

  var body: (any Encodable)? {
    switch self {
    case .event(let body): body
    case .eventsFinished(let body): body
    case .progress(let body): body
    case .sent(let body): body
    case .responseReceived(let body): body
    case .resumedAtOffset(let body): body
    case .challenge(let body): body
    case .delayedRequest(let body): body
    case .waiting(let body): body
    case .transferChanged(let body): body
    case .sendFiles(let body): body
    case .unknown: nil
    }
  }
}
