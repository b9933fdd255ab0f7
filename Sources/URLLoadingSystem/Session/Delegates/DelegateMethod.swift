/// Every delegate method that a delegate may leave out, once per form.
///
/// Swift has no optional protocol requirements outside Objective-C, so each has a default implementation, and the
/// default's first act is to note here that the delegate's class has none of its own.
enum DelegateMethod: Int, Sendable {
  case didBecomeInvalid, didFinishEvents
  case sessionChallenge, sessionChallengeAsync
  case didCreateTask, waitingForConnectivity
  case delayedRequest, delayedRequestAsync
  case redirection, redirectionAsync
  case taskChallenge, taskChallengeAsync
  case newBodyStream, newBodyStreamAsync
  case newBodyStreamFrom, newBodyStreamFromAsync
  case didSendBodyData, informationalResponse, metrics, didComplete
  case response, responseAsync
  case becameDownload, becameStream, data
  case willCache, willCacheAsync
  case didWriteData, didResume, didFinishDownloading
  case didOpenWebSocket, didCloseWebSocket
  case readClosed, writeClosed, becameStreams

  var bit: UInt64 { 1 << UInt64(rawValue) }

  static let ofTasks = bits(from: .didCreateTask, through: .didComplete)
  static let ofDataTasks = bits(from: .response, through: .willCacheAsync)
  static let ofDownloadTasks = bits(from: .didWriteData, through: .didFinishDownloading)

  static let ofWebSocketTasks = bits(from: .didOpenWebSocket, through: .didCloseWebSocket)

  static let ofStreamTasks = bits(from: .readClosed, through: .becameStreams)

  private static func bits(from first: DelegateMethod, through last: DelegateMethod) -> UInt64 {
    (first.rawValue...last.rawValue).reduce(0) { $0 | 1 << UInt64($1) }
  }

  /// Whether a task that was cancelled still tells this: it is about the task's end, or about what the task has become.
  var isToldOfCancelledTasks: Bool {
    switch self {
    case .metrics, .didComplete, .becameDownload, .becameStream, .becameStreams, .didOpenWebSocket,
      .didCloseWebSocket, .readClosed, .writeClosed:
      true
    default: false
    }
  }
}
