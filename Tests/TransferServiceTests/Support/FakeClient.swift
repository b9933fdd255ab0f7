import Foundation
import LoopbackServer
import Synchronization
import SystemServices
import TransferProtocol
import TransferService

/// An app as the engine sees one: it writes down what it is sent, and can stop reading.
final class FakeClient: ServiceClient {
  let id: UInt64
  let peer: PeerIdentity
  let messages = Recorder<ServiceMessage>()
  /// Opened when the engine closes the connection.
  let isClosed = Gate()
  private let pushes = Recorder<ServicePush>()
  private let replies = Monitor<[UInt64: ServiceReply]>([:])
  private let lastRequest = Atomic<UInt64>(0)
  private let isReading = Atomic<Bool>(true)
  private let engine: TransferEngine
  private let listener = Mutex<(@Sendable (ServiceMessage) -> Void)?>(nil)
  private let files = Mutex<[UInt64: PassedFiles]>([:])

  private static let lastID = Atomic<UInt64>(0)

  convenience init(_ engine: TransferEngine, program: String = "/app", process: ProcessIdentity) {
    self.init(
      engine, executable: ExecutableIdentity(path: program, device: 1, inode: 2, owner: geteuid()), process: process)
  }

  init(
    _ engine: TransferEngine, executable: ExecutableIdentity,
    process: ProcessIdentity = ProcessIdentity(pid: getpid(), startTime: 0)
  ) {
    id = FakeClient.lastID.add(1, ordering: .relaxed).newValue
    self.engine = engine
    peer = PeerIdentity(process: process, executable: executable)
    engine.connected(self)
  }

  var canTakeMore: Bool { isReading.load(ordering: .relaxed) }

  func stopReading() { isReading.store(false, ordering: .relaxed) }

  func startReading() {
    isReading.store(true, ordering: .relaxed)
    engine.becameWritable(self)
  }

  func send(_ message: ServiceMessage) {
    messages.record(message)
    switch message {
    case .push(let push): pushes.record(push)
    case .reply(let id, let reply): replies.update { $0[id] = reply }
    }
    listener.withLock { $0 }?(message)
  }

  /// - Parameter heard: called on the engine's queue for each message from now on, while it is sent.
  func listen(_ heard: @escaping @Sendable (ServiceMessage) -> Void) { listener.withLock { $0 = heard } }

  func postpone(_ request: UInt64) {}

  func takeFiles(of request: UInt64) -> PassedFiles? { files.withLock { $0.removeValue(forKey: request) } }

  func close() { isClosed.open() }
  func disconnect() { engine.disconnected(self) }

  /// Sends a request, with open files, and waits for its reply, and for the end of the engine's turn in which it was sent: what
  /// else the request does happens behind its reply.
  @discardableResult
  func ask(_ request: ClientRequest, passing passed: [SourceFile]? = nil) async throws -> ServiceReply {
    let id = lastRequest.add(1, ordering: .relaxed).newValue
    if let passed { files.withLock { $0[id] = PassedFiles(passed) } }
    engine.received(ClientMessage(id: id, request: request), from: self)
    let reply = try await within(patience, "the reply to \(request.name)") {
      try await self.replies.wait { $0[id] }
    }
    let end = Gate()
    engine.ping { end.open() }
    try await end.wait(within: patience)
    return reply
  }

  /// Sends a request and does not wait for its reply. Returns its number.
  @discardableResult
  func tell(_ request: ClientRequest) -> UInt64 {
    let id = lastRequest.add(1, ordering: .relaxed).newValue
    engine.received(ClientMessage(id: id, request: request), from: self)
    return id
  }

  /// The reply to a request, where it has come.
  func reply(to id: UInt64) -> ServiceReply? { replies.current[id] }

  func awaitReply(to id: UInt64) async throws -> ServiceReply {
    try await within(patience, "the reply to request \(id)") { try await self.replies.wait { $0[id] } }
  }

  /// The events that it was sent, in order.
  var events: [SequencedEvent] {
    messages.all.compactMap { if case .push(.event(let event)) = $0 { event } else { nil } }
  }

  func refusal(_ request: ClientRequest) async throws -> Refusal.Reason? {
    guard case .refused(let refusal) = try await ask(request) else { return nil }
    return refusal.reason
  }

  /// The status of a transfer, as lists show it.
  func status(_ id: TransferID) async throws -> TransferStatus {
    let reply = try await ask(.showTransfer(TransferReference(transfer: id)))
    guard case .transfer(let shown) = reply else { throw UnexpectedReply(reply: reply) }
    return shown.status
  }

  func greet() async throws { try await ask(.hello(Hello(client: "tests"))) }

  func attach(
    _ session: String = "s", options: SessionOptions = SessionOptions(), isOfLaunch: Bool? = nil,
    answersDelayedRequests: Bool? = nil
  ) async throws -> Attached? {
    let request = Attach(
      session: session, options: options, isOfLaunch: isOfLaunch, answersDelayedRequests: answersDelayedRequests)
    guard case .attached(let attached) = try await ask(.attach(request)) else { return nil }
    return attached
  }

  /// Greets, attaches and asks for pushes.
  @discardableResult
  func begin(
    _ session: String = "s", options: SessionOptions = SessionOptions(), isOfLaunch: Bool? = nil,
    answersDelayedRequests: Bool? = nil
  ) async throws -> Attached? {
    try await greet()
    let attached = try await attach(
      session, options: options, isOfLaunch: isOfLaunch, answersDelayedRequests: answersDelayedRequests)
    try await ask(.startDelivery(SessionReference(session: session)))
    return attached
  }

  /// Creates tasks. Passes the files of uploads, or of all but one of which the names are known no more.
  func create(_ tasks: [TransferDescription], session: String = "s") async throws -> [Int64] {
    let files = tasks.compactMap { task in task.upload.flatMap { try? SourceFile.open($0.path) } }
    let request = ClientRequest.createTasks(CreateTasks(session: session, tasks: tasks))
    guard case .created(let created) = try await ask(request, passing: files.isEmpty ? nil : files) else { return [] }
    return created.transfers
  }

  /// The next push that `choose` takes; others are passed over.
  func next<Value: Sendable>(_ choose: (ServicePush) -> Value?) async throws -> Value {
    while true {
      let push = try await pushes.next()
      if let value = choose(push) { return value }
    }
  }

  func nextEvent() async throws -> SequencedEvent {
    try await next { if case .event(let event) = $0 { event } else { nil } }
  }

  /// Asks for the status of every transfer of the app.
  func watch() async throws { try await ask(.watch(Watch())) }

  /// The next status, after `watch()`, of a transfer that waits for its next try.
  func nextRetry() async throws -> WaitingStatus {
    try await next {
      if case .transferChanged(let status) = $0, status.waiting?.code == "retry" { status.waiting } else { nil }
    }
  }

  func eventsFinished() async throws {
    _ = try await next { if case .eventsFinished = $0 { true } else { nil } }
  }

  func acknowledge(_ events: [SequencedEvent], session: String = "s") async throws {
    try await ask(.acknowledge(Acknowledge(session: session, sequences: events.map(\.sequence))))
  }
}

/// Another reply than the one that a test waits for.
struct UnexpectedReply: Error { let reply: ServiceReply }

extension SequencedEvent {
  var download: FinishedDownload? { if case .finishedDownloading(let download) = event { download } else { nil } }
  var completion: Completion? { if case .completed(let completion) = event { completion } else { nil } }
}
