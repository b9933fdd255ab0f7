import Foundation
import LoopbackServer
import NIOCore
import Synchronization
import SystemServices
import TransferProtocol

@testable import URLLoadingSystem

/// A transfer service in this process: it keeps tasks and events, and does to them what a test says.
final class FakeTransferService: TransferConnecting, Sendable {
  struct State {
    var tasks: [Int: TransferDescription] = [:]
    var states: [Int: TransferState] = [:]
    /// Why tasks wait, as the list of tasks says.
    var waiting: [Int: WaitingStatus] = [:]
    /// The version of the protocol that it speaks.
    var version = ProtocolVersions.ofApp.maximum
    /// Events that were not acknowledged.
    var log: [SequencedEvent] = []
    var lastSequence: Int64 = 0
    var willFinishEvents = false
    /// How many tasks are in a page of the list.
    var pageLength = Int.max
    var isDelivering = false
    var isInvalidated = false
    /// Whether requests are refused over a connection that the session is not attached through.
    var refusesUnattached = false
    var connection: FakeTransferConnection?
    /// Why no connection can be made; nil while one can.
    var absence: ServiceUnavailable?
    /// Called with each request when it is on its way.
    var onRequest: (@Sendable (ClientRequest) -> Void)?
    /// What happens to the next requests of these names.
    var faults: [String: [Fault]] = [:]
  }

  enum Fault {
    case refuse(Refusal)
    /// The connection ends before the request arrives.
    case loseRequest
    /// The same, and the app hears of the connection's end when the gate opens, after that of the request.
    case loseRequestFirst(Gate)
    /// The connection ends before the answer arrives.
    case loseAnswer
    /// Nothing comes until the app ends the connection.
    case holdAnswer
  }

  private let state = Mutex(State())
  let requests = Recorder<ClientRequest>()
  /// The open files that came with each request.
  let passed = Recorder<[SourceFile]>()
  /// Connections are made once it is open.
  let isReachable: Gate
  let patience: TimeAmount
  let tries: Int

  init(isReachable: Bool = true, patience: TimeAmount = .seconds(90), tries: Int = ServiceLink.usualTries) {
    self.patience = patience
    self.tries = tries
    self.isReachable = Gate()
    if isReachable { self.isReachable.open() }
  }

  func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

  func open(
    onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void
  ) async throws -> any TransferConnection {
    try await isReachable.wait()
    if let absence = withState({ $0.absence }) { throw absence }
    let connection = FakeTransferConnection(service: self, onPush: onPush, onClose: onClose)
    state.withLock {
      $0.connection = connection
      $0.isDelivering = false
    }
    return connection
  }

  // MARK: For tests

  func fail(_ name: String, _ fault: Fault) { state.withLock { $0.faults[name, default: []].append(fault) } }

  func drop() { state.withLock { $0.connection }?.end() }

  func push(_ push: ServicePush) { state.withLock { $0.connection }?.onPush(push) }

  /// The download arrives as a file at `path`, or fails.
  func end(
    _ task: Int, path: String?, failure: TransferFailure? = nil, transactions: [TransactionDescription]? = nil,
    resumePoint: ResumePoint? = nil
  ) {
    let response = ResponseSummary(url: "http://example.com/", status: 200)
    state.withLock { state in
      state.states[task] = .completed
      var events: [TransferEvent] = []
      if let path {
        events.append(.finishedDownloading(FinishedDownload(path: path, response: response, byteCount: 4)))
      }
      var completion = Completion(
        failure: failure, response: response, countOfBytesReceived: 4, countOfBytesExpectedToReceive: 4)
      completion.transactions = transactions
      completion.resumePoint = resumePoint
      events.append(.completed(completion))
      for event in events {
        state.lastSequence += 1
        state.log.append(
          SequencedEvent(session: "s", sequence: state.lastSequence, taskIdentifier: task, event: event))
      }
    }
    deliver()
  }

  /// The next request that `choose` takes; others are passed over.
  func next<Value: Sendable>(_ choose: (ClientRequest) -> Value?) async throws -> Value {
    while true {
      if let value = choose(try await requests.next()) { return value }
    }
  }

  func nextCreation() async throws -> [TransferDescription] {
    try await next { if case .createTasks(let creation) = $0 { creation.tasks } else { nil } }
  }

  // MARK: Answering

  func answer(_ request: ClientRequest, over connection: FakeTransferConnection) async throws -> ServiceReply {
    let fault = state.withLock { state in
      state.faults[request.name]?.isEmpty == false ? state.faults[request.name]?.removeFirst() : nil
    }
    if case .loseRequest = fault {
      connection.end()
      throw ServiceUnavailable(reason: "the request was lost")
    }
    if case .loseRequestFirst(let gate) = fault {
      connection.end(after: gate)
      throw ServiceUnavailable(reason: "the request was lost")
    }
    if case .holdAnswer = fault {
      try await connection.isOver.wait()
      throw ServiceUnavailable(reason: "the connection has ended")
    }
    if case .attach = request { connection.isAttached.open() }
    if !connection.isAttached.isOpen, withState({ $0.refusesUnattached }) { throw Refusal(.notAttached, "") }
    // A test that has seen the request finds what it did.
    defer { requests.record(request) }
    if case .refuse(let refusal) = fault { throw refusal }
    let reply = state.withLock { FakeTransferService.reply(to: request, &$0) }
    if case .loseAnswer = fault {
      connection.end()
      throw ServiceUnavailable(reason: "the answer was lost")
    }
    switch request {
    case .startDelivery: deliver()
    case .cancelTask(let body): end(body.taskIdentifier, path: nil, failure: TransferFailure(URLError(.cancelled)))
    case .cancelTasks(let body):
      for task in body.taskIdentifiers { end(task, path: nil, failure: TransferFailure(URLError(.cancelled))) }
    default: break
    }
    return reply
  }

  private static func reply(to request: ClientRequest, _ state: inout State) -> ServiceReply {
    switch request {
    case .sessionTasks(let body): return .tasks(page(after: body.after, state))
    case .attach:
      return .attached(
        Attached(
          page: page(after: 0, state), nextTaskIdentifier: (state.tasks.keys.max() ?? 0) + 1,
          pendingEventCount: state.log.count, willFinishEvents: state.willFinishEvents))
    case .startDelivery: state.isDelivering = true
    case .createTasks(let creation):
      for task in creation.tasks where state.tasks[task.taskIdentifier] == nil {
        state.tasks[task.taskIdentifier] = task
        state.states[task.taskIdentifier] = task.startsImmediately ? .running : .suspended
      }
      return .created(CreatedTasks(transfers: creation.tasks.map { Int64($0.taskIdentifier) }))
    case .suspendTasks(let selection): for task in selection.taskIdentifiers { state.states[task] = .suspended }
    case .resumeTasks(let selection): for task in selection.taskIdentifiers { state.states[task] = .running }
    case .cancelTask: return .cancelled(CancelledTask())
    case .acknowledge(let acknowledgement): state.log.removeAll { acknowledgement.sequences.contains($0.sequence) }
    case .invalidate: state.isInvalidated = true
    default: break
    }
    return .done
  }

  private static func page(after: Int, _ state: State) -> TaskPage {
    let listed = state.tasks.sorted { $0.key < $1.key }.filter { task, _ in
      task > after && (state.states[task] != .completed || state.log.contains { $0.taskIdentifier == task })
    }
    let snapshots = listed.prefix(state.pageLength).map { task, description in
      var status = TransferStatus(
        transfer: Int64(task), session: "s", taskIdentifier: task, kind: .download, url: description.request.url,
        state: state.states[task] ?? .running, created: Date())
      status.waiting = state.waiting[task]
      return TransferSnapshot(description: description, status: status)
    }
    return TaskPage(
      tasks: snapshots, next: snapshots.count < listed.count ? snapshots.last?.description.taskIdentifier : nil)
  }

  /// Sends every event that is not acknowledged: never one after the answer to its acknowledgement.
  func deliver() {
    state.withLock { state in
      guard state.isDelivering else { return }
      for event in state.log { state.connection?.onPush(.event(event)) }
    }
  }
}

final class FakeTransferConnection: TransferConnection, Sendable {
  private let service: FakeTransferService
  let onPush: @Sendable (ServicePush) -> Void
  private let onClose: Mutex<(@Sendable () -> Void)?>
  let isAttached = Gate()
  let isOver = Gate()
  /// The app has ended it.
  let isClosed = Gate()

  init(
    service: FakeTransferService, onPush: @escaping @Sendable (ServicePush) -> Void,
    onClose: @escaping @Sendable () -> Void
  ) {
    self.service = service
    self.onPush = onPush
    self.onClose = Mutex(onClose)
  }

  var version: Int { service.withState { $0.version } }

  func request(
    _ request: ClientRequest, passing files: [SourceFile], meanwhile: () -> Void
  ) async throws -> ServiceReply {
    service.passed.record(files)
    service.withState { $0.onRequest }?(request)
    meanwhile()
    guard onClose.withLock({ $0 != nil }) else { throw ServiceUnavailable(reason: "the connection has ended") }
    return try await service.answer(request, over: self)
  }

  func close() {
    end()
    isClosed.open()
  }

  func end(after gate: Gate) {
    let onClose = takeOnClose()
    Task {
      try? await gate.wait()
      onClose?()
    }
  }

  func end() {
    let onClose = takeOnClose()
    isOver.open()
    onClose?()
  }

  private func takeOnClose() -> (@Sendable () -> Void)? {
    onClose.withLock { stored in
      defer { stored = nil }
      return stored
    }
  }
}
