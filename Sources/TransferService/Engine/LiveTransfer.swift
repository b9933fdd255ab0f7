import Foundation
import SystemServices
import TransferProtocol

/// A transfer that is not over, as the engine keeps it.
struct LiveTransfer {
  let id: TransferID
  let session: SessionID
  let taskIdentifier: Int
  var host: String
  var machine: TransferMachine
  var priority: Float
  var received: Int64
  /// -1 when it is not known.
  var expectedTotal: Int64
  /// How much of an upload's file is sent; nil while that is as the queue has it.
  var sent: SentBytes?
  /// Another request is being written to the queue: no run begins until that has ended.
  var isBeingEdited = false
  /// Hands that request to the store once no run is under way any more, or says that it can't be changed; nil where none waits
  /// for that.
  var editAfterRun: ((_ mayBeMade: Bool) -> Void)?
  /// How many changes of its failures are being written.
  var retryNotes = 0
  /// Callers that wait for a cancellation to be in the queue, the first one first: those of whom their connections know
  /// that it may take long, and the later ones.
  private var postponedReplies: [CancellationReply] = []
  private var newReplies: [CancellationReply] = []
  /// Made once, also when the end has to be written again: making it moves the file.
  var resumePoint: ResumePoint?
  /// The same of an upload, which may be given to several.
  var uploadPoint: UploadPoint?
  /// Whether its resume point was made, or could not be, since its end was to be written last.
  var isExportTried = false
  /// When the time for the whole resource began; nil until the app wants it.
  var started: DurableInstant?
  /// How often the service crashed while it ran, without progress since then.
  var crashes: Int
  /// The status for watchers, but for the state and the counts; read from the queue when first needed.
  var statusBase: TransferStatus?

  /// The reason for waiting that the holder of its session was told last.
  var toldReason = ToldReason.nothing
  /// Whether its app was asked how it begins, which is asked where it has an earliest date.
  var delayedRequest: DelayedRequest
  /// How often a question about it was withdrawn because its request was changed.
  var timesAskedAgain = 0
  /// The user has cancelled it, and its app has not.
  var isCancelledByUser = false

  /// Holds the present run back; nil while none is under way.
  var pace: TransferPace?
  /// Of the present run; nil while none is under way.
  var rate: ShownRate?
  /// Of the present run; nil while none is under way.
  var repeatability: RunRepeatability?
  /// nil until it is first looked at.
  var discretion: TransferDiscretion?

  enum DelayedRequest {
    case unasked
    /// Its app has as many questions as it is asked at a time. It is asked when one of them is over, and not after this.
    case waiting(until: BootInstant)
    /// The app's answer counts until then.
    case asked(UInt64, until: BootInstant)
    /// It has answered, or is not asked any more.
    case settled
  }

  struct CancellationReply {
    let client: any ServiceClient
    let app: AppID
    /// The number of the message that it answers.
    let request: UInt64
    let takesResumePoint: Bool
    /// Whether the caller waits while the end can't be written. A person does not.
    var waitsForDisk = true
    /// The others that the same message cancels: one answer is for them all.
    var group: CancellationGroup?
    let content: (CancelledTask) -> ServiceReply

    func send(_ answer: CancelledTask) {
      guard group?.ended() ?? true else { return }
      client.send(.reply(to: request, content(answer)))
    }
  }

  /// - Parameter isSetAside: whether it stands still because the service crashed while it ran.
  init(_ head: StoredTransferHead, isSetAside: Bool = false) {
    id = head.id
    session = head.session
    taskIdentifier = head.taskIdentifier
    host = head.host
    machine = TransferMachine(
      failures: head.failures, earliestBegin: head.earliestBegin, countedBytes: head.committedOffset,
      hold: head.isHeld || isSetAside
        ? TransferMachine.Hold(goesOn: head.state == .active, isSetAside: isSetAside) : nil)
    priority = head.priority
    received = head.committedOffset
    expectedTotal = head.expectedTotal
    started = head.started
    crashes = head.crashes
    delayedRequest = head.hasRun ? .settled : .unasked
  }

  /// Whether its run can be ended without harm, so that another one goes on.
  func mayGoOnLater(at now: BootInstant) -> Bool {
    repeatability?.mayGoOnLater(bytesPerSecond: rate?.perSecond(at: now) ?? 0) ?? true
  }

  mutating func add(_ reply: CancellationReply) { newReplies.append(reply) }

  /// The end can't be written for now: the callers wait on, and their connections are read on.
  mutating func postponeCancellations() {
    guard !newReplies.isEmpty else { return }
    for reply in newReplies { reply.client.postpone(reply.request) }
    postponedReplies += newReplies
    newReplies = []
  }

  /// Takes out the callers that do not wait for an end that can't be written now. The transfer is cancelled all the same.
  mutating func takeRepliesThatDoNotWait() -> [CancellationReply] {
    let replies = cancellationReplies.filter { !$0.waitsForDisk }
    postponedReplies.removeAll { !$0.waitsForDisk }
    newReplies.removeAll { !$0.waitsForDisk }
    return replies
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
      guard reply.takesResumePoint else {
        reply.send(CancelledTask())
        continue
      }
      reply.send(CancelledTask(resumePoint: point, uploadPoint: uploadPoint))
      point = nil
    }
  }
}
