import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol
import TransferService

/// Who may do what.
@Suite struct EngineSessionTests {
  @Test func aConnectionBeginsWithHello() async throws {
    let fixture = try EngineFixture()
    let client = fixture.client()
    #expect(try await client.refusal(.attach(Attach(session: "s"))) == .invalidRequest)
    guard case .version = try await client.ask(.version) else {
      Issue.record("the version is told to everybody")
      return
    }
    let old = Hello(versions: .init(minimum: 0, maximum: 0), client: "old")
    guard case .refused(let refusal) = try await client.ask(.hello(old)) else {
      Issue.record("greeted")
      return
    }
    #expect(refusal.reason == .incompatibleVersion && refusal.mustUpdate == .app)
    let new = Hello(versions: .init(minimum: 99, maximum: 100), client: "new")
    guard case .refused(let other) = try await client.ask(.hello(new)) else {
      Issue.record("greeted")
      return
    }
    #expect(other.mustUpdate == .service)
    try await client.greet()
    #expect(try await client.refusal(.unknown("teleport")) == .unsupported)
    #expect(try await client.attach() != nil)
    await fixture.shutDown()
  }

  @Test func oneProcessHoldsASession() async throws {
    let fixture = try EngineFixture()
    let first = fixture.client(process: EngineFixture.ourselves)
    let second = fixture.client(process: EngineFixture.ourselves)
    try await first.begin()
    try await second.greet()
    #expect(try await second.refusal(.attach(Attach(session: "s"))) == .inUse)
    // Another session, or the same name in another app, is free.
    #expect(try await second.attach("other") != nil)
    let stranger = fixture.client("/stranger")
    try await stranger.greet()
    #expect(try await stranger.attach() != nil)

    try await first.ask(.detach(SessionReference(session: "s")))
    #expect(try await second.attach() != nil)
    #expect(try await first.refusal(.attach(Attach(session: "s"))) == .inUse)
    await fixture.shutDown()
  }

  @Test func theSessionOfADeadProcessIsFree() async throws {
    let fixture = try EngineFixture()
    let killed = fixture.client(process: EngineFixture.dead)
    try await killed.begin()
    // Its connection has not been noticed to be gone.
    let heir = fixture.client(process: EngineFixture.ourselves)
    try await heir.greet()
    #expect(try await heir.attach() != nil)
    #expect(try await killed.refusal(.startDelivery(SessionReference(session: "s"))) == .notAttached)
    await fixture.shutDown()
  }

  @Test func aConnectionsEndGivesItsSessionsUp() async throws {
    let fixture = try EngineFixture()
    let first = fixture.client(process: EngineFixture.ourselves)
    try await first.begin("a")
    try await first.attach("b").map { _ in }
    first.disconnect()
    let second = fixture.client()
    try await second.greet()
    #expect(try await second.attach("a") != nil)
    #expect(try await second.attach("b") != nil)
    await fixture.shutDown()
  }

  static let held: [ClientRequest] = [
    .sessionTasks(SessionTasks(session: "s", after: 0)), .startDelivery(SessionReference(session: "s")),
    .createTasks(CreateTasks(session: "s", tasks: [.download("http://h/")])),
    .resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])),
    .suspendTasks(TaskSelection(session: "s", taskIdentifiers: [1])),
    .cancelTask(CancelTask(session: "s", taskIdentifier: 1)), .updateTask(UpdateTask(session: "s", taskIdentifier: 1)),
    .acknowledge(Acknowledge(session: "s", sequences: [1])), .doneHandlingEvents(SessionReference(session: "s")),
    .detach(SessionReference(session: "s")), .invalidate(SessionReference(session: "s")),
  ]

  @Test(arguments: held.indices)
  func onlyTheHolderMayTouchASession(index: Int) async throws {
    let fixture = try EngineFixture()
    let holder = fixture.client(process: EngineFixture.ourselves)
    try await holder.begin()
    _ = try await holder.create([.download("http://h/", running: false)])
    for other in [fixture.client(), fixture.client("/stranger")] {
      try await other.greet()
      #expect(try await other.refusal(Self.held[index]) == .notAttached)
    }
    guard case .tasks(let page) = try await holder.ask(Self.held[0]) else {
      Issue.record("the holder was refused")
      return
    }
    #expect(page.tasks.count == 1)
    await fixture.shutDown()
  }

  @Test func anotherAppsTransfersDoNotExist() async throws {
    let fixture = try EngineFixture()
    let owner = fixture.client()
    try await owner.begin()
    let id = try await owner.create([.download("http://h/", running: false)])[0]
    let stranger = fixture.client("/stranger")
    try await stranger.greet()
    #expect(try await stranger.refusal(.showTransfer(TransferReference(transfer: id))) == .unknownTask)
    #expect(try await stranger.refusal(.cancelTransfer(TransferReference(transfer: id))) == .unknownTask)
    for request: ClientRequest in [.listTransfers(ListTransfers()), .watch(Watch()), .watch(Watch(transfers: [id]))] {
      guard case .transfers(let page) = try await stranger.ask(request) else {
        Issue.record("\(request) was refused")
        continue
      }
      #expect(page.transfers.isEmpty)
    }
    // A second process of the app sees and may cancel it without holding the session.
    let observer = fixture.client()
    try await observer.greet()
    guard case .transfers(let page) = try await observer.ask(.watch(Watch())) else {
      Issue.record("refused")
      return
    }
    #expect(page.transfers.map(\.transfer) == [id])
    guard case .transfer(let shown) = try await observer.ask(.showTransfer(TransferReference(transfer: id))) else {
      Issue.record("refused")
      return
    }
    #expect(shown.status.state == .suspended && shown.status.waiting?.code == "suspended")
    #expect(try await observer.ask(.cancelTransfer(TransferReference(transfer: id))) == .done)
    let change = try await observer.next { if case .transferChanged(let status) = $0 { status } else { nil } }
    #expect(change.transfer == id && change.state == .completed)
    #expect(change.failure?.code == URLError.Code.cancelled.rawValue)
    #expect(stranger.messages.all.allSatisfy { if case .push = $0 { false } else { true } })
    await fixture.shutDown()
  }

  static let refused: [(description: @Sendable (inout TransferDescription) -> Void, reason: Refusal.Reason)] = [
    ({ $0.token = "" }, .invalidRequest),
    ({ $0.taskIdentifier = 0 }, .invalidRequest),
    ({ $0.taskIdentifier = .max }, .invalidRequest),
    ({ $0.kind = .upload }, .unsupported),
    ({ $0.request.body = Data(count: RequestDescription.maximumBodyLength + 1) }, .tooLarge),
    ({ $0.taskDescription = String(repeating: "x", count: TransferDescription.maximumLength) }, .tooLarge),
    // Two bytes each in the task's JSON.
    ({ $0.taskDescription = String(repeating: "\"", count: TransferDescription.maximumLength / 2) }, .tooLarge),
    ({ $0.request.headers = [HeaderField("X", String(repeating: "x", count: 2 << 20))] }, .tooLarge),
  ]

  @Test(arguments: refused.indices)
  func impossibleTasksAreRefused(index: Int) async throws {
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    var description = TransferDescription.download("http://h/", running: false)
    Self.refused[index].description(&description)
    let request = CreateTasks(session: "s", tasks: [.download("http://h/", task: 5, running: false), description])
    #expect(try await client.refusal(.createTasks(request)) == Self.refused[index].reason)
    // None of the batch was taken.
    guard case .tasks(let page) = try await client.ask(.sessionTasks(SessionTasks(session: "s", after: 0))) else {
      Issue.record("refused")
      return
    }
    #expect(page.tasks.isEmpty)
    await fixture.shutDown()
  }

  @Test func manyTasksComeInPages() async throws {
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    let ids = try await client.create((1...1_200).map { .download("http://h/\($0)", task: $0, running: false) })
    #expect(ids.count == 1_200)
    try await client.ask(.detach(SessionReference(session: "s")))
    var page = try #require(try await client.attach()).page
    var seen = page.tasks.map(\.description.taskIdentifier)
    while let next = page.next {
      guard case .tasks(let more) = try await client.ask(.sessionTasks(SessionTasks(session: "s", after: next))) else {
        Issue.record("refused")
        return
      }
      page = more
      seen += page.tasks.map(\.description.taskIdentifier)
    }
    #expect(seen == Array(1...1_200))
    await fixture.shutDown()
  }

  @Test func aDescriptionCanBeChanged() async throws {
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    let id = try await client.create([.download("http://h/", running: false)])[0]
    var update = UpdateTask(session: "s", taskIdentifier: 1)
    update.taskDescription = "a film"
    update.priority = 1
    #expect(try await client.ask(.updateTask(update)) == .done)
    guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
      Issue.record("refused")
      return
    }
    #expect(shown.description.taskDescription == "a film" && shown.description.priority == 1)
    #expect(try await client.refusal(.updateTask(UpdateTask(session: "s", taskIdentifier: 9))) == .unknownTask)
    update.taskDescription = String(repeating: "x", count: TransferDescription.maximumLength)
    #expect(try await client.refusal(.updateTask(update)) == .tooLarge)
    await fixture.shutDown()
  }

  @Test func anAppHasALimitOfItsOwn() async throws {
    let fixture = try EngineFixture { $0.transfersPerApp = 3 }
    let client = fixture.client()
    try await client.begin("a")
    try await client.begin("b")
    let tasks = (1...4).map { TransferDescription.download("http://h/", task: $0, running: false) }
    #expect(try await client.create(Array(tasks.prefix(2)), session: "a").count == 2)
    #expect(
      try await client.refusal(.createTasks(CreateTasks(session: "b", tasks: Array(tasks.prefix(2))))) == .tooLarge)
    #expect(try await client.create([tasks[2]], session: "b").count == 1)
    #expect(try await client.refusal(.createTasks(CreateTasks(session: "a", tasks: [tasks[3]]))) == .tooLarge)
    // It is no other app's.
    let stranger = fixture.client("/stranger")
    try await stranger.begin("a")
    #expect(try await stranger.create([tasks[3]], session: "a").count == 1)
    // What is over and told does not count.
    try await client.ask(.cancelTask(CancelTask(session: "a", taskIdentifier: 1)))
    try await client.acknowledge([try await client.nextEvent()], session: "a")
    #expect(try await client.create([tasks[3]], session: "a").count == 1)
    await fixture.shutDown()
  }

  /// What is accepted can also be told.
  @Test func theLargestTasksComeBackInPages() async throws {
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    for task in 1...3 {
      var description = TransferDescription.download("http://h/", task: task, running: false)
      description.taskDescription = String(repeating: "x", count: TransferDescription.maximumLength - 1_000)
      description.request.body = Data(count: RequestDescription.maximumBodyLength)
      #expect(try await client.create([description]).count == 1)
    }
    var after = 0
    for task in 1...3 {
      guard case .tasks(let page) = try await client.ask(.sessionTasks(SessionTasks(session: "s", after: after))) else {
        Issue.record("refused")
        return
      }
      #expect(page.tasks.map(\.description.taskIdentifier) == [task])
      #expect(try MessageFraming.frame(ServiceMessage.reply(to: 1, .tasks(page))).count < MessageFraming.maximumLength)
      after = page.next ?? 0
    }
    await fixture.shutDown()
  }
}
