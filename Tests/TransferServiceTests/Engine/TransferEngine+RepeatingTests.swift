import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Requests that do harm when they arrive twice, and that a server has and has not answered.
@Suite struct TransferEngineRepeatingTests {
  enum Kind: CaseIterable { case download, dataTask, upload }
  enum Interruption: CaseIterable { case suspension, pause, newField }

  private static let edited = [HeaderField("X-New", "1")]

  private static func task(
    _ kind: Kind, _ fixture: EngineFixture, _ server: LoopbackServer, headers: [HeaderField] = []
  ) throws -> TransferDescription {
    let url = server.url("/order").absoluteString
    guard kind != .upload else {
      return .upload(try TransferEngineUploadsTests.file(fixture), to: url, headers: headers)
    }
    var task = TransferDescription.download(url, headers: headers, method: "POST")
    task.request.body = Data("body".utf8)
    task.isDataTask = kind == .dataTask ? true : nil
    return task
  }

  /// Takes the request, and answers once the gate is open.
  private static func held(_ arrived: Gate, _ answer: Gate) -> Reply {
    Reply([
      .readRequestBody(), .open(arrived), .waitFor(answer), .head(200, fields: [("Content-Length", "4")]),
      .body("done"),
    ])
  }

  /// Creates a task and waits until the server has its request, which it answers when `answer` is opened.
  private func withRequestAtServer(
    _ kind: Kind,
    _ body: (EngineFixture, LoopbackServer, FakeClient, TransferID, _ answer: Gate) async throws -> Void
  ) async throws {
    let (arrived, answer) = (Gate(), Gate())
    try await UploadDesk(["POST": [Self.held(arrived, answer), UploadDesk.take()]]).run { fixture, server in
      defer { answer.open() }
      let app = fixture.client()
      try await app.begin()
      let id = try #require(try await app.create([try Self.task(kind, fixture, server)]).first)
      try await arrived.wait(within: patience)
      try await body(fixture, server, app, id, answer)
    }
  }

  private static let selection = TaskSelection(session: "s", taskIdentifiers: [1])

  private func expectAnswer(_ app: FakeClient, _ server: LoopbackServer) async throws {
    let download = try #require(try await app.nextEvent().download)
    #expect(try String(contentsOfFile: download.path, encoding: .utf8) == "done")
    #expect(try await app.nextEvent().completion?.failure == nil)
    #expect(server.heads.count == 1)
  }

  @Test(arguments: Kind.allCases, Interruption.allCases)
  func anInterruptionWaitsForTheAnswer(kind: Kind, interruption: Interruption) async throws {
    try await withRequestAtServer(kind) { fixture, server, app, id, answer in
      let reference = TransferReference(transfer: id)
      switch interruption {
      case .suspension:
        try await app.ask(.suspendTasks(Self.selection))
        #expect(try await app.status(id).state == .suspended)
        try await app.ask(.resumeTasks(Self.selection))
      case .pause:
        #expect(try await app.ask(.holdTransfer(reference)) == .done)
        #expect(try await app.ask(.releaseTransfer(reference)) == .done)
      case .newField:
        var edit = EditTransfer(transfer: id)
        edit.fields = Self.edited
        #expect(try await app.ask(.editTransfer(edit)) == .done)
      }
      await fixture.settle()
      #expect(try await app.status(id).state == .running)
      answer.open()
      try await expectAnswer(app, server)
    }
  }

  /// Its answer is told at once.
  @Test(arguments: Kind.allCases) func aSuspendedOneEndsWithItsAnswer(kind: Kind) async throws {
    try await withRequestAtServer(kind) { fixture, server, app, id, answer in
      try await app.ask(.suspendTasks(Self.selection))
      await fixture.settle()
      answer.open()
      try await expectAnswer(app, server)
    }
  }

  /// The request can't be taken back.
  @Test(arguments: Kind.allCases) func aNewResourceComesTooLate(kind: Kind) async throws {
    try await withRequestAtServer(kind) { fixture, server, app, id, answer in
      let person = fixture.client()
      try await person.greet()
      var edit = EditTransfer(transfer: id)
      edit.url = server.url("/other").absoluteString
      let number = person.tell(.editTransfer(edit))
      #expect(try await app.status(id).state == .running)
      #expect(person.reply(to: number) == nil)
      answer.open()
      guard case .refused(let refusal) = try await person.awaitReply(to: number) else {
        Issue.record("not refused")
        return
      }
      #expect(refusal.reason == .invalidRequest)
      try await expectAnswer(app, server)
    }
  }

  @Test(arguments: Kind.allCases) func aCancellationDoesNotWaitForTheAnswer(kind: Kind) async throws {
    try await withRequestAtServer(kind) { fixture, _, app, _, _ in
      try await app.ask(.suspendTasks(Self.selection))
      await fixture.settle()
      app.tell(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      let failure = try await app.nextEvent().completion?.failure
      #expect(failure?.code == URLError.Code.cancelled.rawValue)
    }
  }

  @Test(arguments: [Kind.download, .dataTask], [true, false])
  func theNextLifeMakesNoRequestThatTheServerMayHave(kind: Kind, hasKey: Bool) async throws {
    let (arrived, answer) = (Gate(), Gate())
    try await UploadDesk(["POST": [Self.held(arrived, answer), UploadDesk.take(text: "done")]]).run { fixture, server in
      defer { answer.open() }
      let first = fixture.client()
      try await first.begin()
      let headers = hasKey ? [HeaderField("Idempotency-Key", "\"1\"")] : []
      _ = try await first.create([try Self.task(kind, fixture, server, headers: headers)])
      try await arrived.wait(within: patience)
      let app = try await fixture.nextLife().client()
      answer.open()
      try await app.begin()
      if hasKey {
        #expect(try await app.nextEvent().download?.byteCount == 4)
      } else {
        let failure = try #require(try await app.nextEvent().completion?.failure)
        #expect(failure.code == URLError.Code.networkConnectionLost.rawValue)
        #expect(failure.message.contains("not repeated"))
      }
      #expect(server.heads.count == (hasKey ? 2 : 1))
    }
  }

  /// The journal has it as well.
  @Test func theNextLifeMakesNoRequestThatTheServerMayHaveWhereTheQueueIsLost() async throws {
    try await withRequestAtServer(.download) { fixture, server, _, id, answer in
      #expect(try fixture.files.journals.read(id)?.isBegun == true)
      await fixture.shutDown()
      answer.open()
      for name in [TransferStore.fileName] + QueueCopy.names {
        for suffix in ["", "-wal", "-shm"] { try fixture.disk.remove("\(fixture.folder.path)/\(name)\(suffix)") }
      }
      let next = try await fixture.nextLife()
      #expect(next.store.quarantine != nil)
      let app = next.client()
      try await app.begin()
      #expect(try await app.nextEvent().completion?.failure?.message.contains("not repeated") == true)
      #expect(server.heads.count == 1)
    }
  }

  /// The server would say that it has the whole, and give its answer no more.
  @Test(arguments: [true, false]) func anUploadThatItsServerKeepsDoesNotStopForItsAnswer(isAnswering: Bool) async throws
  {
    let answer = Gate()
    let head = ReplyStep.head(200, fields: [("Content-Length", "4")])
    let steps =
      isAnswering ? [head, .body("do"), .waitFor(answer), .body("ne")] : [.waitFor(answer), head, .body("done")]
    try await UploadDesk(["POST": [Reply([UploadDesk.offer, .readRequestBody()] + steps)]]).run { fixture, server in
      defer { answer.open() }
      let app = fixture.client()
      try await app.begin()
      let id = try #require(try await app.create([try Self.task(.upload, fixture, server)]).first)
      try await eventually("the server to have the whole") {
        guard try fixture.store.transfer(id)?.upload?.place != nil else { return false }
        let transfer = fixture.engine.queue.sync { fixture.engine.transfers[id] }
        return isAnswering
          ? transfer?.expectedTotal == 4 : transfer?.sent.map { $0.count == $0.expected } == true
      }
      try await app.ask(.suspendTasks(Self.selection))
      await fixture.settle()
      answer.open()
      try await expectAnswer(app, server)
    }
  }

  /// A server does not act on a request of which it has a part.
  @Test func anUploadInTheMiddleOfItsFileStopsForASuspension() async throws {
    let (arrived, goOn) = (Gate(), Gate())
    let first = Reply([.readRequestBody(upTo: 1000), .open(arrived), .waitFor(goOn), .readRequestBody(), .stall])
    try await UploadDesk(["POST": [first, UploadDesk.take()]]).run { fixture, server in
      defer { goOn.open() }
      let app = fixture.client()
      try await app.begin()
      let path = try TransferEngineUploadsTests.file(fixture, count: TransferEngineUploadsTests.size)
      let id = try #require(try await app.create([.upload(path, to: server.url("/order").absoluteString)]).first)
      try await arrived.wait(within: patience)
      try await app.ask(.suspendTasks(Self.selection))
      try await eventually("the run to stop") { fixture.engine.queue.sync { fixture.engine.runs[id] == nil } }
      goOn.open()
      try await app.ask(.resumeTasks(Self.selection))
      #expect(try await app.nextEvent().download != nil)
      #expect(server.heads.count == 2)
    }
  }
}
