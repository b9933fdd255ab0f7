import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import Synchronization

/// The load of one request by a custom protocol.
///
/// 1. A thread of the protocols asks the classes, makes the object and starts it (`begin`).
/// 2. The object's calls are gathered in `ClientCalls`, from whichever thread they come, and wake the load's event loop
///    (`ProtocolLoad+Client.swift`). Data that has no room in memory goes to a file (`ChunkSpill`).
/// 3. There the pipeline takes the response (`step`), and the task pulls the body (`take`).
/// 4. The object is stopped, once, on its thread: when it has told the end, when a redirect is followed, when the load is
///    aborted or its rest is not wanted. Then it is released.
final class ProtocolLoad: NSObject, @unchecked Sendable {
  // Sendable by hand: what several threads change is behind the lock. The rest is confined to the loop or to the
  // protocol's thread, and both are asserted.

  private let state: Mutex<State>
  /// Held for a call of the protocol, the writing of its data included, so that calls keep their order. The loop never
  /// takes it.
  private let order = Mutex(())
  private let spill = ChunkSpill()
  let executor: LoopExecutor

  // Confined to the loop from here on. `run` is nil once the load is over.
  private(set) var run: PipelineRun?
  private var request: ProtocolRequest
  private var record: TransactionRecord?
  private var action: (() -> Void)?
  private var abortError: (any Error)?
  private let stored: StoredChunks
  /// The challenges that the app has not answered.
  var questions: [ProtocolQuestion] = []

  // Confined to the protocol's thread.
  private var object: URLProtocol?

  init(_ run: PipelineRun) {
    self.run = run
    executor = run.context.executor
    stored = StoredChunks(of: spill, on: executor)
    request = ProtocolRequest(run.request)
    record = run.context.makeRecord(of: run, .unknown)
    state = Mutex(State(calls: ClientCalls(for: run.request.urlRequest.url)))
  }

  // MARK: The protocol's thread

  /// Offers the request to `classes`, in order. On the loop.
  ///
  /// - Parameter isChosen: Whether the only class has accepted it before.
  func begin(_ classes: [URLProtocol.Type], isChosen: Bool) {
    executor.loop.assertInEventLoop()
    guard let context = run?.context else { return }
    let offer = ProtocolOffer(task: context.client.protocolTask, request: request.shown)
    let stored = StoredResponses(for: request.shown, in: context.configuration)
    let request = request
    ProtocolThreads.shared.start { thread in
      guard self.enter(thread) else { return }
      var answer: Answer?
      let object = ProtocolOffer.$current.withValue(offer) { () -> URLProtocol? in
        guard let type = isChosen ? classes.first : classes.first(where: { offer.isAccepted(by: $0) }) else {
          answer = .declined
          return nil
        }
        guard !request.needsStream else {
          answer = .needsStream(type)
          return nil
        }
        do { try request.checkFile() } catch {
          answer = .failed(error)
          return nil
        }
        return self.make(type, offer, stored)
      }
      if let object { self.start(object, on: thread) }
      self.leave(thread)
      // Last: another thread may have the load from then on.
      if let answer { self.reply(answer) }
    }
  }

  /// False when the load was given up before.
  private func enter(_ thread: ProtocolThread) -> Bool {
    state.withLock { state in
      guard !state.mustStop else { return false }
      (state.thread, state.isStarting) = (thread, true)
      return true
    }
  }

  private func leave(_ thread: ProtocolThread) {
    let wasRefused = state.withLock { state in
      state.isStarting = false
      return state.settleRefusal()
    }
    if wasRefused { refusalIsSettled() }
    if state.withLock({ $0.mustStop }) { stop(on: thread) }
  }

  private func make(_ type: URLProtocol.Type, _ offer: ProtocolOffer, _ stored: StoredResponses) -> URLProtocol {
    let canonical = type.canonicalRequest(for: offer.request)
    state.withLock { $0.canonical = canonical }
    return type.init(
      URLProtocol.Start(
        request: canonical, cachedResponse: stored.response(for: canonical, as: type), client: self))
  }

  private func start(_ object: URLProtocol, on thread: ProtocolThread) {
    thread.assertOnThread()
    guard !state.withLock({ $0.mustStop }) else { return }
    self.object = object
    thread.loadBegan()
    object.startLoading()
  }

  private func stop(on thread: ProtocolThread) {
    thread.assertOnThread()
    guard let object else { return }
    self.object = nil
    thread.loadEnded()
    object.stopLoading()
  }

  /// Runs `action` on the thread of the protocol, unless that has been stopped by then.
  func onProtocolThread(_ action: @escaping @Sendable () -> Void) {
    guard let thread = state.withLock({ $0.thread }) else { return }
    thread.perform { if self.object != nil { action() } }
  }

  // MARK: From any thread

  private func reply(_ answer: Answer) {
    let mustWake = state.withLock { state in
      state.answer = answer
      return state.isWakeNeeded()
    }
    if mustWake { wake() }
  }

  /// Takes a call of the protocol.
  func receive(_ call: (inout ClientCalls) -> Void) { tell(order.withLock { _ in note(call) }) }

  /// Takes data of the protocol: into memory while there is room, else into the file, on the thread of the call. A write to
  /// a file ends whether or not the app reads.
  func receive(_ bytes: ByteBuffer) {
    let change = order.withLock { _ in
      var mustStore = false
      let change = note { calls in
        mustStore = !calls.hasRoom(for: bytes)
        if !mustStore { calls.receive(bytes) }
      }
      guard mustStore else { return change }
      do { try spill.append(bytes) } catch { return note { $0.fail(error) } }
      return note { $0.receive(stored: bytes.readableBytes) }
    }
    tell(change)
  }

  /// The cost of what waits in memory for the app to read it.
  var bytesInMemory: Int { state.withLock { $0.calls.inMemory } }

  private struct Change {
    var mustWake = false
    var isOver = false
  }

  private func note(_ call: (inout ClientCalls) -> Void) -> Change {
    state.withLock { state in
      guard !state.calls.isOver else { return Change() }
      call(&state.calls)
      return Change(mustWake: state.isWakeNeeded(), isOver: state.calls.isOver)
    }
  }

  /// Without the lock of the calls: a load that is inline goes on in here.
  private func tell(_ change: Change) {
    if change.mustWake { wake() }
    if change.isOver { requestStop() }
  }

  private func refusalIsSettled() {
    wake()
    if isOver { requestStop() }
  }

  /// Whether calls of the protocol count no more.
  var isOver: Bool { state.withLock { $0.calls.isOver } }

  private func wake() { executor.loop.execute { self.look() } }

  /// Has the object stopped, if it was not before.
  private func requestStop() {
    let thread = state.withLock { state -> ProtocolThread? in
      guard !state.mustStop else { return nil }
      state.mustStop = true
      // A thread that is starting the object stops it when that has returned.
      return state.isStarting ? nil : state.thread
    }
    if let thread { thread.perform { self.stop(on: thread) } }
  }

  // MARK: On the loop

  private func look() {
    executor.loop.assertInEventLoop()
    state.withLock { $0.isWakeDue = false }
    run?.context.control.touch()
    let action = self.action
    self.action = nil
    action?()
  }

  /// Gives the load up. What the protocol has told and nothing has taken is dropped.
  private func giveUp() {
    executor.loop.assertInEventLoop()
    state.withLock { $0.calls.close() }
    requestStop()
    end()
  }

  /// Nothing is left to do here.
  private func end() {
    spill.discard()
    if run != nil { record?.fetchEnd = .now() }
    (run, record) = (nil, nil)
    let questions = self.questions
    self.questions = []
    for question in questions { question.giveUp() }
  }

  /// Calls `action` when the protocol or the classes have said more.
  private func whenMore(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    let isReady = abortError != nil || stored.areNext || state.withLock { $0.isReady }
    if isReady { executor.schedule(action) } else { self.action = action }
  }

  private func interrupt(with error: any Error) {
    abortError = error
    giveUp()
    let action = self.action
    self.action = nil
    if let action { executor.schedule(action) }
  }
}

// MARK: The response

extension ProtocolLoad: PendingStep {
  func whenReady(_ action: @escaping () -> Void) { whenMore(action) }

  func abort(_ error: any Error) { interrupt(with: error) }

  func step() -> LoadStep {
    executor.loop.assertInEventLoop()
    if let abortError { return .fail(abortError) }
    guard let run else { return .fail(ErrorMapping.cancelled) }
    let (answer, item) = state.withLock { state in
      state.isRefusalDue ? (.none, nil) : (state.takeAnswer(), state.calls.next())
    }
    switch answer {
    case .none: break
    case .declined:
      giveUp()
      return .proceed
    case .needsStream(let type): return .wait { try await self.supplyStream(to: type, run) }
    case .failed(let error):
      giveUp()
      return .fail(error)
    }
    switch item {
    case nil: return .pending(self)
    case .response(let response, let policy): return .answer(loaded(response, policy, run))
    case .redirect(let request, let response):
      return .wait { try await self.follow(request, from: response, run) }
    case .failure(let error):
      note(nil, run)
      end()
      return .fail(ProtocolFailure(error: error))
    case .bytes, .stored, .end:
      // A response comes before these.
      return .pending(self)
    }
  }

  private func supplyStream(to type: URLProtocol.Type, _ run: PipelineRun) async throws -> LoadStep {
    let context = run.context
    do {
      let stream = try await context.control.whileClientHoldsLoad {
        try await context.client.load(context, needsBodyStreamFrom: run.request.bodyRange?.start ?? 0)
      }
      guard let stream else {
        throw ErrorMapping.make(.requestBodyStreamExhausted, because: "The request's body stream was not supplied.")
      }
      request = ProtocolRequest(run.request, supplied: stream)
    } catch {
      giveUp()
      throw error
    }
    begin([type], isChosen: true)
    return .pending(self)
  }

  private func loaded(_ response: URLResponse, _ policy: URLCache.StoragePolicy, _ run: PipelineRun) -> LoadedResponse {
    note(response, run)
    let loaded = LoadedResponse(response: response, body: LoadBody(self, in: run.context), record: record)
    guard policy != .notAllowed, let canonical = state.withLock({ $0.canonical }) else { return loaded }
    return ProtocolStoring(canonical, policy, in: run.context).copying(loaded)
  }

  /// The hop becomes a transaction.
  private func note(_ response: URLResponse?, _ run: PipelineRun) {
    guard let record else { return }
    record.response = response
    run.context.transactions.append(record)
  }

  private func follow(
    _ target: URLRequest, from response: URLResponse, _ run: PipelineRun
  ) async throws -> LoadStep {
    let context = run.context
    let proposal = request.restored(target)
    var answer: URLRequest? = proposal
    do {
      guard run.redirectCount < RedirectRules.limit else {
        throw ErrorMapping.make(
          .httpTooManyRedirects, because: "There were more than \(RedirectRules.limit) redirects.")
      }
      if let response = response as? HTTPURLResponse {
        answer = try await context.control.whileClientHoldsLoad {
          try await context.client.load(context, willFollow: proposal, from: response)
        }
      }
    } catch {
      giveUp()
      throw error
    }
    guard let answer else {
      let isSettled = state.withLock { state in
        state.isRefusalDue = true
        return state.settleRefusal()
      }
      if isSettled { refusalIsSettled() }
      return .pending(self)
    }
    note(response, run)
    giveUp()
    run.follow(request.next(answer, after: target))
    context.client.load(context, isUsing: answer)
    return .again
  }
}

// MARK: The body

extension ProtocolLoad: BodySource {
  func take() throws -> BodyPart {
    executor.loop.assertInEventLoop()
    if let abortError { throw abortError }
    if stored.areNext {
      guard let bytes = try stored.take() else { return .pending }
      record?.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
      return .bytes(bytes)
    }
    switch state.withLock({ $0.calls.next() }) {
    case .bytes(let bytes):
      record?.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
      return .bytes(bytes)
    case .stored(let count):
      stored.expect(count)
      return .pending
    case .end:
      end()
      return .end
    case .failure(let error):
      end()
      throw ProtocolFailure(error: error)
    // Behind a response there is neither another one nor a redirect.
    case nil, .response, .redirect: return .pending
    }
  }

  func whenReadable(_ action: @escaping () -> Void) {
    guard stored.mustBeFetched, abortError == nil else { return whenMore(action) }
    self.action = action
    stored.fetch { self.look() }
  }

  func discard() { giveUp() }
}
