/// A message of the service that answers no request.
///
/// Only `event` is durable: it is sent again, to the next process that attaches, until it is acknowledged. The others describe
/// the moment; some may be left out when the app reads slowly.
package enum ServicePush: Sendable, Equatable {
  case event(SequencedEvent)
  /// Every task of the session is over and every event acknowledged, after a reattachment that promised this.
  case eventsFinished(SessionReference)
  case progress(DownloadProgress)
  case responseReceived(ResponseReceived)
  case resumedAtOffset(ResumedAtOffset)
  case challenge(ChallengeQuestion)
  /// Sent to connections that `watch`.
  case transferChanged(TransferStatus)
  /// A push of a newer service.
  case unknown(String)

  var name: String {
    switch self {
    case .event: "event"
    case .eventsFinished: "eventsFinished"
    case .progress: "progress"
    case .responseReceived: "responseReceived"
    case .resumedAtOffset: "resumedAtOffset"
    case .challenge: "challenge"
    case .transferChanged: "transferChanged"
    case .unknown(let name): name
    }
  }

  var body: (any Encodable)? {
    switch self {
    case .event(let body): body
    case .eventsFinished(let body): body
    case .progress(let body): body
    case .responseReceived(let body): body
    case .resumedAtOffset(let body): body
    case .challenge(let body): body
    case .transferChanged(let body): body
    case .unknown: nil
    }
  }
}
