import Foundation
import HTTPTransport
import NIOCore

/// Turns what happens to one task into calls of its delegates, on the session's queue and in order.
///
/// Confined to the event loop of the task's load, except for what runs on the queue. While a question is unanswered
/// every later event is held back, so that a delegate never hears of a task that it is still being asked about. That
/// goes for later questions too: a connection may ask while its load already goes on with another connection.
final class TaskDelivery: @unchecked Sendable {
  let session: URLSession
  let lane: DeliveryLane
  /// The task's own delegate, asked first.
  let first: DelegateFacets?
  /// The session's delegate, asked for what the first leaves out.
  let second: DelegateFacets?
  let flow = ByteFlow()
  /// The loop of the load; nil without one.
  var loop: LoopExecutor?
  /// The task whose delegates these are: another one after a response has become a download or a stream.
  var task: URLSessionTask

  /// Whether anything was put on the lane: the task's end must then go the same way.
  private(set) var hasPosted = false
  /// After the last event: nothing may follow.
  private var isClosed = false
  /// The question that is unanswered.
  private var openQuestion: QuestionID?
  private var lastQuestion: QuestionID = 0
  /// The events after it, in order.
  private var held: [HeldEvent] = []
  private var openBatch: ChunkBatch?
  private var uploadProgress: ProgressBatch?
  private var writeProgress: ProgressBatch?

  private typealias QuestionID = Int

  private struct HeldEvent {
    let event: DeliveryLane.Event
    /// Set when the event is itself a question.
    let question: QuestionID?
  }

  init(
    of task: URLSessionTask, in session: URLSession, lane: DeliveryLane, first: DelegateFacets?, second: DelegateFacets?
  ) {
    self.task = task
    self.session = session
    self.lane = lane
    self.first = first
    self.second = second
  }

  // MARK: Posting

  func post(_ event: @escaping DeliveryLane.Event) { post(event, question: nil) }

  private func post(_ event: @escaping DeliveryLane.Event, question: QuestionID?) {
    openBatch = nil
    uploadProgress = nil
    writeProgress = nil
    append(event, question: question)
  }

  private func append(_ event: @escaping DeliveryLane.Event, question: QuestionID? = nil) {
    assertConfined()
    guard !isClosed else { return }
    hasPosted = true
    guard openQuestion == nil else { return held.append(HeldEvent(event: event, question: question)) }
    lane.append(event, from: loop)
    openQuestion = question
  }

  /// Posts the task's last event, after all that is held back. Questions that were not put yet are dropped.
  func end(_ event: @escaping DeliveryLane.Event) {
    assertConfined()
    openQuestion = nil
    let events = held
    held = []
    for held in events where held.question == nil { lane.append(held.event, from: loop) }
    post(event)
    close()
  }

  /// Without a load there is no loop: the task then ends where it was cancelled.
  private func assertConfined() { loop?.loop.assertInEventLoop() }

  /// Nothing is told any more.
  func close() { isClosed = true }

  /// Runs `call` for the task's delegate and, if that one leaves `method` out, for the session's; not when the task has
  /// been cancelled by then, unless `method` is about its end.
  func post(
    _ method: DelegateMethod, _ call: @escaping @Sendable (DelegateFacets) -> Void
  ) {
    guard mayBeImplemented(method) else { return }
    let task = self.task
    post {
      guard method.isToldOfCancelledTasks || !task.isCancelled else { return }
      self.perform(method, call)
    }
  }

  /// False when both delegates are known to leave `method` out.
  func mayBeImplemented(_ method: DelegateMethod) -> Bool {
    if let first, !first.capabilities.lacks(method) { return true }
    if let second, !second.capabilities.lacks(method) { return true }
    return false
  }

  /// False when both delegates are known to leave `question` out.
  func mayBeAsked(_ question: DelegateQuestion) -> Bool {
    if let first, !first.capabilities.lacks(question) { return true }
    if let second, !second.capabilities.lacks(question) { return true }
    return false
  }

  /// On the queue.
  func perform(_ method: DelegateMethod, _ call: (DelegateFacets) -> Void) {
    if let first, !first.capabilities.lacks(method) {
      call(first)
      if !first.capabilities.lacks(method) { return }
    }
    if let second, !second.capabilities.lacks(method) { call(second) }
  }

  // MARK: Body bytes and progress

  /// Hands `chunk` on; waits while the delegate is far behind.
  func deliver(_ chunk: ByteBuffer, of task: URLSessionDataTask, control: LoadControl) async throws {
    guard mayBeImplemented(.data) else { return }
    if add(chunk, of: task) { try await flow.makeRoom(control) }
  }

  /// Hands `chunk` on where the delegate has taken everything before it. False, and nothing is handed on, where it has not.
  func deliverAtOnce(_ chunk: ByteBuffer, of task: URLSessionDataTask) -> Bool {
    guard mayBeImplemented(.data) else { return true }
    guard openQuestion == nil, flow.isEmpty else { return false }
    _ = add(chunk, of: task)
    return true
  }

  /// Returns whether the delegate is far behind.
  private func add(_ chunk: ByteBuffer, of task: URLSessionDataTask) -> Bool {
    assertConfined()
    let mustWait = flow.add(chunk.readableBytes)
    if openBatch?.join(chunk) != true {
      let batch = ChunkBatch()
      _ = batch.join(chunk)
      append { [flow, session] in
        let data = batch.take()
        // After `cancel()` no data comes, whatever had arrived before it.
        if !task.isCancelled {
          self.perform(.data) { $0.data?.urlSession(session, dataTask: task, didReceive: data) }
        }
        flow.remove(data.count)
      }
      openBatch = batch
    }
    return mustWait
  }

  func didSend(_ task: URLSessionTask, bytes: Int64, total: Int64, expected: Int64) {
    assertConfined()
    guard mayBeImplemented(.didSendBodyData) else { return }
    if uploadProgress?.join(bytes: bytes, total: total, expected: expected) == true { return }
    let report = ProgressBatch(bytes: bytes, total: total, expected: expected)
    append { [session] in
      let (bytes, total, expected) = report.take()
      guard !task.isCancelled else { return }
      self.perform(.didSendBodyData) {
        $0.task?.urlSession(
          session, task: task, didSendBodyData: bytes, totalBytesSent: total, totalBytesExpectedToSend: expected)
      }
    }
    uploadProgress = report
  }

  func didWrite(_ task: URLSessionDownloadTask, bytes: Int64, total: Int64, expected: Int64) {
    assertConfined()
    guard mayBeImplemented(.didWriteData) else { return }
    if writeProgress?.join(bytes: bytes, total: total, expected: expected) == true { return }
    let report = ProgressBatch(bytes: bytes, total: total, expected: expected)
    append { [session] in
      let (bytes, total, expected) = report.take()
      guard !task.isCancelled else { return }
      self.perform(.didWriteData) {
        $0.download?.urlSession(
          session, downloadTask: task, didWriteData: bytes, totalBytesWritten: total,
          totalBytesExpectedToWrite: expected)
      }
    }
    writeProgress = report
  }

  // MARK: Questions

  /// Asks the task's delegate and, if that one leaves the question out, the session's; nil when both do.
  ///
  /// The load waits, and its idle timer with it. Aborting the load ends the wait.
  func ask<Answer: Sendable>(
    _ question: DelegateQuestion, fallback: Answer, control: LoadControl,
    _ call: @escaping @Sendable (DelegateFacets, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer? {
    for facets in [first, second] {
      guard let facets, !facets.capabilities.lacks(question) else { continue }
      let answer = try await ask(facets, fallback: fallback, control: control, call)
      if !facets.capabilities.lacks(question) { return answer }
    }
    return nil
  }

  private func ask<Answer: Sendable>(
    _ facets: DelegateFacets, fallback: Answer, control: LoadControl,
    _ call: @escaping @Sendable (DelegateFacets, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer {
    let reference = PendingAnswerReference<Answer>()
    lastQuestion += 1
    let question = lastQuestion
    let task = self.task
    defer { isAnswered(question) }
    return try await control.whileClientHoldsLoad {
      try await control.abortable(onAbort: { _ in reference.answer?.abandon() }) {
        await withUnsafeContinuation { continuation in
          let pending = PendingAnswer(continuation, fallback: fallback)
          reference.answer = pending
          post(
            {
              // A cancelled task asks nothing. Dropping the question gives the fallback.
              guard !task.isCancelled else { return }
              call(facets) { pending.give($0) }
            }, question: question)
        }
      }
    }
  }

  /// Lets the held events go, up to the next question.
  private func isAnswered(_ question: QuestionID) {
    assertConfined()
    guard openQuestion == question else {
      // Given up before it was put.
      held.removeAll { $0.question == question }
      return
    }
    openQuestion = nil
    let next = held.firstIndex { $0.question != nil }.map { $0 + 1 } ?? held.count
    for event in held.prefix(next) {
      lane.append(event.event, from: loop)
      openQuestion = event.question
    }
    held.removeFirst(next)
  }
}
