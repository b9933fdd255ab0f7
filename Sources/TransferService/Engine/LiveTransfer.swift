import Foundation
import TransferProtocol

/// A transfer that is not over, as the engine keeps it.
struct LiveTransfer {
  let id: TransferID
  let session: SessionID
  let taskIdentifier: Int
  let host: String
  var machine: TransferMachine
  var priority: Float
  var received: Int64
  /// -1 when it is not known.
  var expectedTotal: Int64
  /// Callers that wait for a cancellation to be in the queue.
  var cancellationReplies: [CancellationReply] = []
  /// Made once, also when the end has to be written again: making it moves the file.
  var resumePoint: ResumePoint?
  /// The status for watchers, but for the state and the counts; read from the queue when first needed.
  var statusBase: TransferStatus?

  struct CancellationReply {
    let takesResumePoint: Bool
    let send: (ResumePoint?) -> Void
  }

  init(_ head: StoredTransferHead) {
    id = head.id
    session = head.session
    taskIdentifier = head.taskIdentifier
    host = head.host
    machine = TransferMachine(failures: head.failures, earliestBegin: head.earliestBegin)
    priority = head.priority
    received = head.committedOffset
    expectedTotal = head.expectedTotal
  }

  /// Answers the callers. The first of them that asked for it gets the resume point: there is one file.
  func replyToCancellations() {
    var point = resumePoint
    for reply in cancellationReplies {
      reply.send(reply.takesResumePoint ? point : nil)
      if reply.takesResumePoint { point = nil }
    }
  }
}
