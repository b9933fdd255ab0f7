import Foundation
import SystemServices
import TransferProtocol

/// What the engine keeps of a session while it has something to do, or somebody holds it.
struct LiveSession {
  var stored: StoredSession
  /// The connection that holds it.
  var holder: UInt64?
  /// The process that held it last. As long as it lives, the app is not started a second time.
  var lastHolder: ProcessIdentity?
  var isDelivering = false
  /// `eventsFinished` was promised.
  var willFinishEvents = false
  /// The newest event that was sent to the present holder.
  var lastSent: Int64 = 0
  /// Sent to the present holder and not yet acknowledged.
  var unacknowledged: Set<Int64> = []
  /// Transfers that are not over.
  var unfinished: [Int: TransferID] = [:]
  var isLaunched = false
  /// The engine's number of that launch.
  var launchRound = 0
  /// The present holder says that it is done with what it was started for.
  var saysDone = false
  /// Why the app can't be started; nil when it can.
  var launchRefusal: String?
  /// A look at whether the app has to be started is planned.
  var isLaunchPlanned = false

  init(_ stored: StoredSession) { self.stored = stored }
}

/// What the engine keeps of a transfer that is not over.
struct LiveTransfer {
  let id: TransferID
  let session: SessionID
  let taskIdentifier: Int
  let host: String
  var priority: Float
  var earliestBegin: Date?
  var state: StoredState
  var received: Int64
  var expectedTotal: Int64
  var failures: Int
  /// Set while a try, or the taking over of a file, is under way, and until its outcome has been dealt with.
  var run: (any DownloadStopping)?
  /// Callers that wait for the transfer to have stopped for good.
  var cancellation: Cancellation?
  /// Whether the file that the app gave was taken over in this life, or could not be.
  var hasTriedTakeOver = false
  /// The session is gone: no event, no file.
  var isDiscarded = false
  /// For those who watch; read from the store when first needed.
  var statusBase: TransferStatus?

  struct Cancellation {
    var wantsResumePoint: Bool
    var replies: [Reply] = []
    /// It has stopped, and its end is being written.
    var isEnding = false
    var resumePoint: ResumePoint?

    struct Reply {
      let takesResumePoint: Bool
      let send: (ResumePoint?) -> Void
    }
  }

  init(_ head: StoredTransferHead) {
    id = head.id
    session = head.session
    taskIdentifier = head.taskIdentifier
    host = head.host
    priority = head.priority
    earliestBegin = head.earliestBegin
    state = head.state
    received = head.committedOffset
    expectedTotal = head.expectedTotal
    failures = head.failures
  }
}
