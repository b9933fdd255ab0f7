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
  /// Callers that wait for a cancellation to be in the queue, the first one first: those of whom their connections know
  /// that it may take long, and the later ones.
  private var postponedReplies: [CancellationReply] = []
  private var newReplies: [CancellationReply] = []
  /// Made once, also when the end has to be written again: making it moves the file.
  var resumePoint: ResumePoint?
  /// The status for watchers, but for the state and the counts; read from the queue when first needed.
  var statusBase: TransferStatus?

  struct CancellationReply {
    let client: any ServiceClient
    let app: AppID
    /// The number of the message that it answers.
    let request: UInt64
    let takesResumePoint: Bool
    let content: (ResumePoint?) -> ServiceReply

    func send(_ point: ResumePoint?) { client.send(.reply(to: request, content(point))) }
  }

  init(_ head: StoredTransferHead) {
    id = head.id
    session = head.session
    taskIdentifier = head.taskIdentifier
    host = head.host
    machine = TransferMachine(
      failures: head.failures, earliestBegin: head.earliestBegin, countedBytes: head.committedOffset)
    priority = head.priority
    received = head.committedOffset
    expectedTotal = head.expectedTotal
  }

  mutating func add(_ reply: CancellationReply) { newReplies.append(reply) }

  /// The end can't be written for now: the callers wait on, and their connections are read on.
  mutating func postponeCancellations() {
    guard !newReplies.isEmpty else { return }
    for reply in newReplies { reply.client.postpone(reply.request) }
    postponedReplies += newReplies
    newReplies = []
  }

  /// Forgets the callers of a connection that is gone. The transfer is cancelled all the same, and its resume point made
  /// where one of them wanted it.
  ///
  /// - Returns: how many there were.
  mutating func dropReplies(to client: UInt64) -> Int {
    let count = postponedReplies.count + newReplies.count
    postponedReplies.removeAll { $0.client.id == client }
    newReplies.removeAll { $0.client.id == client }
    return count - postponedReplies.count - newReplies.count
  }

  var cancellationReplies: [CancellationReply] { postponedReplies + newReplies }

  /// Answers the callers. The first of them that asked for it gets the resume point: there is one file.
  func replyToCancellations() {
    var point = resumePoint
    for reply in cancellationReplies {
      reply.send(reply.takesResumePoint ? point : nil)
      if reply.takesResumePoint { point = nil }
    }
  }
}
