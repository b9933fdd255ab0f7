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
    let client: any ServiceClient
    /// The number of the message that it answers.
    let request: UInt64
    let takesResumePoint: Bool
    let content: (ResumePoint?) -> ServiceReply
    var isPostponed = false

    func send(_ point: ResumePoint?) { client.send(.reply(to: request, content(point))) }
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

  /// The end can't be written for now: the callers wait on, as far as their connections allow that.
  mutating func postponeCancellations() {
    cancellationReplies = cancellationReplies.compactMap { reply in
      guard !reply.isPostponed else { return reply }
      guard reply.client.postpone(reply.request) else {
        let refusal = Refusal(.storage, "The queue can't be written, and too many requests wait for it already.")
        reply.client.send(.reply(to: reply.request, .refused(refusal)))
        return nil
      }
      var postponed = reply
      postponed.isPostponed = true
      return postponed
    }
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
