import Foundation

// The state of a task as the library reads and changes it. Unlike the properties that apps read these make nothing for
// observers.
extension URLSessionTask {
  var presentRequest: URLRequest? { lockedState.withLock { $0.changedRequest ?? $0.originalRequest } }
  var presentState: State { lockedState.withLock { $0.publicState } }
  var presentPriority: Float { lockedState.withLock { $0.priority } }
  var isSuspended: Bool { lockedState.withLock { $0.isSuspended } }
  /// The policy of the task's session; nil once the task has ended.
  var cookieAcceptPolicy: HTTPCookie.AcceptPolicy? { lockedState.withLock { $0.session }?.cookieAcceptPolicy }
  var resumption: Resumption? { lockedState.withLock { $0.resumption } }
  var recipient: ResultRecipient { lockedState.withLock { $0.recipient } }

  /// Whether `cancel()` was called: nothing that the work brings is then given to the app, and no event but the end is
  /// told.
  var isCancelled: Bool { flags.load(ordering: .acquiring) & TaskFlags.isCancelled != 0 }

  /// Whether what was received is to be kept when the work fails now.
  var wantsResumeData: Bool { lockedState.withLock { $0.wantsResumeData } }

  /// Whether `cancel(byProducingResumeData:)` waits for an answer.
  var isAskedForResumeData: Bool { lockedState.withLock { $0.isAskedForResumeData } }

  /// The request that is being loaded has changed.
  func noteRequest(_ request: URLRequest) { change(\.currentRequest) { $0.changedRequest = request } }

  /// A response has come.
  func noteResponse(_ response: URLResponse?) { change(\.response) { $0.response = response } }

  /// The end will not be told: the task has turned into something else.
  func silence() { lockedState.withLock { $0.silence() } }
}
