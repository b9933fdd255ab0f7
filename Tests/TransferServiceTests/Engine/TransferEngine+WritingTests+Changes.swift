import Testing
import TransferProtocol

@testable import TransferService

/// The requests that tests of the suite send, each with how its change is seen in the queue.
extension TransferEngineWritingTests {
  /// A request that changes the queue of the scene.
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let request: ClientRequest
    /// Whether the queue has the change.
    let isDone: @Sendable (TransferStore) throws -> Bool

    init(_ name: String, _ request: ClientRequest, isDone: @escaping @Sendable (TransferStore) throws -> Bool) {
      (testDescription, self.request, self.isDone) = (name, request, isDone)
    }
  }

  static func tasks(_ task: Int) -> TaskSelection { TaskSelection(session: "s", taskIdentifiers: [task]) }

  static func priority(_ task: Int) -> ClientRequest {
    var update = UpdateTask(session: "s", taskIdentifier: task)
    update.priority = 0.875
    return .updateTask(update)
  }

  static func url(_ id: Int64, _ url: String) -> ClientRequest {
    var edit = EditTransfer(transfer: id)
    edit.url = url
    return .editTransfer(edit)
  }

  static func limit(_ subject: LimitTransfers.Subject) -> ClientRequest {
    .limit(LimitTransfers(subject: subject, limit: BandwidthLimit(bytesPerSecond: 2_000)))
  }

  /// Changes of rows of transfers.
  static let ofTransfers = [
    Change("suspend", .suspendTasks(tasks(1))) { try $0.transfer(1)?.head.state == .suspended },
    Change("resume", .resumeTasks(tasks(2))) { try $0.transfer(2)?.head.state == .active },
    Change("update", priority(1)) { try $0.transfer(1)?.description.priority == 0.875 },
    Change("hold", .holdTransfer(TransferReference(transfer: 1))) { try $0.transfer(1)?.head.isHeld == true },
    Change("release", .releaseTransfer(TransferReference(transfer: 3))) { try $0.transfer(3)?.head.isHeld == false },
    Change("edit", url(1, "http://h/new")) { try $0.transfer(1)?.description.request.url == "http://h/new" },
    Change("limit a transfer", limit(.transfer(1))) { try $0.limitsBesidesSessions()[.transfer(1)] != nil },
  ]

  static let all =
    ofTransfers + [
      Change("limit a session", limit(.session("s"))) { try !$0.limits(ofSession: 1).isEmpty },
      Change("limit an app", limit(.app)) { try $0.limitsBesidesSessions()[.app(1)] != nil },
      Change("create", .createTasks(CreateTasks(session: "s", tasks: [.download("http://h/5", task: 5)]))) {
        try $0.transfer(5) != nil
      },
      Change("cancel", .cancelTask(CancelTask(session: "s", taskIdentifier: 2))) {
        try $0.transfer(2)?.head.state == .completed
      },
      Change("acknowledge", .acknowledge(Acknowledge(session: "s", sequences: [1]))) {
        try $0.eventCount(of: 1) == 0
      },
      Change("attach", .attach(Attach(session: "t"))) { try $0.session("t", of: 1) != nil },
      Change("invalidate", .invalidate(SessionReference(session: "s"))) { try $0.unfinishedHeads().isEmpty },
    ]

  static func ofTransfers(_ names: [String]) -> [Change] {
    ofTransfers.filter { names.contains($0.testDescription) }
  }

  static let ofNewTask = [
    Change("cancel", .cancelTransfer(TransferReference(transfer: 5))) { try $0.transfer(5)?.head.state == .completed },
    Change("hold", .holdTransfer(TransferReference(transfer: 5))) { try $0.transfer(5)?.head.isHeld == true },
    Change("edit", url(5, "http://h/new")) { try $0.transfer(5)?.description.request.url == "http://h/new" },
    Change("limit a transfer", limit(.transfer(5))) { try $0.limitsBesidesSessions()[.transfer(5)] != nil },
  ]
}
