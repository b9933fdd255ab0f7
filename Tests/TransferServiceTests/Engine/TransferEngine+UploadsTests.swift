import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Uploads, from the app's file to the answer.
@Suite struct TransferEngineUploadsTests {
  /// More than sockets hold.
  static let size = 24 << 20

  static func file(_ fixture: EngineFixture, count: Int = 600_000, seed: UInt64 = 1) throws -> String {
    let path = fixture.appFolder.path + "/file"
    try Data(BytePattern(seed: seed).bytes(count: count)).write(to: URL(fileURLWithPath: path))
    return path
  }

  static func bytes(_ count: Int) -> [UInt8] { BytePattern().bytes(count: count) }

  static func url(_ server: LoopbackServer) -> String { server.url("/upload").absoluteString }

  private static func place(_ fixture: EngineFixture, _ id: TransferID) throws -> StoredUpload.Place? {
    try fixture.store.transfer(id)?.upload?.place
  }

  /// Lets the waits for next tries end, one after the other.
  private static func nextEvent(_ app: FakeClient, _ fixture: EngineFixture) async throws -> SequencedEvent {
    _ = try await app.nextRetry()
    await fixture.advance(by: 700)
    return try await app.nextEvent()
  }

  /// A file without blocks has any length.
  @Test func aSparseFileOfTheGreatestLengthDoesNoHarm() async throws {
    try await withEngine { fixture in
      let path = "/dev/shm/\(UUID().uuidString)"
      defer { unlink(path) }
      try Data().write(to: URL(fileURLWithPath: path))
      #expect(truncate(path, Int.max) == 0)
      let app = fixture.client()
      try await app.begin()
      let tasks = (1...2).map { TransferDescription.upload(path, to: "http://h/", task: $0, running: false) }
      let ids = try await app.create(tasks)
      for id in ids { #expect(try fixture.store.transfer(id)?.upload?.size == .max) }
      let session = try #require(try fixture.store.liveSessions().first)
      #expect(try fixture.store.uploadBytes(of: session.app) == 0, "there is no copy")
    }
  }

  @Test(arguments: [(1, 2, 3), (.max, 1, .max), (.max, .max, .max), (0, .max, .max)] as [(Int64, Int64, Int64)])
  func sizesAreAddedWithinBounds(_ one: Int64, _ other: Int64, _ sum: Int64) {
    #expect(one.saturatingAdd(other) == sum)
  }

  @Test func aTokenIsOfOneTask() async throws {
    try await withEngine { fixture in
      let app = fixture.client()
      try await app.begin()
      var tasks = [TransferDescription.download("http://h/a", task: 1), .download("http://h/b", task: 2)]
      tasks[1].token = tasks[0].token
      let creation = CreateTasks(session: "s", tasks: tasks)
      #expect(try await app.refusal(.createTasks(creation)) == .invalidRequest)
    }
  }

  @Test func theServerGetsTheFileAsItWasAndTheAppTheAnswer() async throws {
    let gate = Gate()
    let desk = UploadDesk(["POST": [UploadDesk.take(201, text: "thanks").preceded(by: [.waitFor(gate)])]])
    try await desk.run { fixture, server in
      let path = try Self.file(fixture)
      let app = fixture.client()
      try await app.begin()
      let id = try #require(try await app.create([.upload(path, to: Self.url(server))]).first)
      // In place, so that a second name of the same file would change too.
      let handle = try #require(FileHandle(forWritingAtPath: path))
      try handle.write(contentsOf: Data("changed".utf8))
      try handle.close()
      gate.open()
      let answer = try #require(try await app.nextEvent().download)
      #expect(try String(contentsOfFile: answer.path, encoding: .utf8) == "thanks")
      #expect(answer.response?.status == 201)
      let completion = try #require(try await app.nextEvent().completion)
      #expect(completion.failure == nil && completion.countOfBytesReceived == 6)
      #expect(completion.countOfBytesSent == 600_000 && completion.countOfBytesExpectedToSend == 600_000)
      #expect(server.requests.first?.body.bytes == Self.bytes(600_000))
      #expect(fixture.names("uploads").isEmpty)
      try await app.acknowledge(app.events)
      #expect(try fixture.store.transfer(id)?.upload?.sent == 600_000)
      #expect(FileManager.default.contents(atPath: path)?.prefix(7) == Data("changed".utf8))
      let sent = app.messages.all.compactMap { if case .push(.sent(let report)) = $0 { report } else { nil } }
      #expect(sent.last?.totalBytesSent == 600_000 && sent.last?.totalBytesExpectedToSend == 600_000)
    }
  }

  @Test func anUploadThatRunsTellsHowFastItsBytesGo() async throws {
    let gate = Gate()
    let reply = Reply([.readRequestBody(), .waitFor(gate), .head(200, fields: [("Content-Length", "0")])])
    try await UploadDesk(["PUT": [reply]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      let upload = TransferDescription.upload(try Self.file(fixture), to: Self.url(server), method: "PUT")
      let id = try #require(try await app.create([upload]).first)
      try await eventually("the rate") { try await app.status(id).bytesPerSecond == 600_000 }
      gate.open()
      _ = try await app.nextEvent()
    }
  }

  /// A status that the app lists is no answer, and the server is tried again when it says.
  @Test(arguments: [("120", 120), ("1", 30), (nil, nil)] as [(String?, Double?)])
  func aServerThatNamesATimeIsTriedAgainThen(_ named: String?, _ seconds: Double?) async throws {
    let fields = named.map { [("Retry-After", $0)] } ?? []
    try await UploadDesk(["PUT": [UploadDesk.take(503, fields: fields), UploadDesk.take(200)]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      var task = TransferDescription.upload(try Self.file(fixture), to: Self.url(server), method: "PUT")
      var retry = RetryDescription()
      (retry.pause, retry.statuses) = (1, [503])
      task.retry = retry
      _ = try await app.create([task])
      let code = WaitingReason.serverBusy(status: 503).status().code
      let waiting = try await app.next { push -> WaitingStatus? in
        if case .transferChanged(let status) = push, status.waiting?.code == code { status.waiting } else { nil }
      }
      let wait = try #require(waiting.nextAttempt).timeIntervalSince(fixture.clock.date)
      if let seconds { #expect(abs(wait - seconds) < 1) } else { #expect(wait < 5) }
      await fixture.advance(by: wait + 1)
      #expect(try await app.nextEvent().download?.response?.status == 200)
    }
  }

  /// The next service asks the server how much it has.
  @Test func goesOnAtTheServersOffsetInTheNextLife() async throws {
    let desk = UploadDesk([
      "POST": [UploadDesk.stall], "HEAD": [UploadDesk.has(1000)],
      "PATCH": [UploadDesk.take(200, text: "whole")],
    ])
    try await desk.run { fixture, server in
      let path = try Self.file(fixture)
      let first = fixture.client()
      try await first.begin()
      let id = try #require(try await first.create([.upload(path, to: Self.url(server))]).first)
      try await eventually("the place in the queue") { try Self.place(fixture, id) != nil }
      try FileManager.default.removeItem(atPath: path)
      let next = try await fixture.nextLife()
      // The server records a request that it does not read whole when the connection ends.
      _ = try await server.nextRequest()
      let app = next.client()
      try await app.begin()
      let answer = try #require(try await app.nextEvent().download)
      #expect(try String(contentsOfFile: answer.path, encoding: .utf8) == "whole")
      #expect(try await app.nextEvent().completion?.failure == nil)
      #expect(server.heads.map(\.method) == ["POST", "HEAD", "PATCH"])
      #expect(server.requests.last?.value("Upload-Offset") == "1000")
      #expect(server.requests.last?.body.bytes == Array(Self.bytes(600_000).dropFirst(1000)))
      try await app.acknowledge(app.events)
      #expect(try Self.place(next, id) == nil)
    }
  }

  /// Nothing says whether the server has acted on a request that it has whole.
  @Test(arguments: [("POST", []), ("PUT", []), ("POST", [HeaderField("Idempotency-Key", "\"1\"")])])
  func aRequestThatMayHaveBeenActedOnIsRepeatedWhereThatDoesNoHarm(
    method: String, headers: [HeaderField]
  ) async throws {
    let isRepeated = method == "PUT" || !headers.isEmpty
    let arrived = Gate()
    let desk = UploadDesk([method: [Reply([.readRequestBody(), .open(arrived), .stall]), UploadDesk.take()]])
    try await desk.run { fixture, server in
      let path = try Self.file(fixture)
      let first = fixture.client()
      try await first.begin()
      _ = try await first.create([.upload(path, to: Self.url(server), method: method, headers: headers)])
      try await arrived.wait(within: patience)
      let app = try await fixture.nextLife().client()
      try await app.begin()
      if isRepeated {
        #expect(try await app.nextEvent().download != nil)
      } else {
        let failure = try #require(try await app.nextEvent().completion?.failure)
        #expect(failure.code == URLError.Code.networkConnectionLost.rawValue)
        #expect(failure.message.contains("not repeated"))
      }
      #expect(server.heads.count == (isRepeated ? 2 : 1))
    }
  }

  /// Otherwise a service that is killed at that moment would not know that the server may have acted on the request.
  @Test func theLastBytesWaitUntilTheQueueKnowsOfThem() async throws {
    let (arrived, goOn) = (Gate(), Gate())
    let reply = UploadDesk.take().preceded(by: [.readRequestBody(upTo: 1000), .open(arrived), .waitFor(goOn)])
    try await UploadDesk(["POST": [reply]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      let id = try #require(
        try await app.create([.upload(try Self.file(fixture, count: Self.size), to: Self.url(server))]).first)
      func sent() -> Int64 {
        app.messages.all.compactMap { if case .push(.sent(let report)) = $0 { report.totalBytesSent } else { nil } }
          .last ?? 0
      }
      try await arrived.wait(within: patience)
      try await fixture.holdingQueue {
        goOn.open()
        try await eventually("most bytes to be sent") { sent() >= 12 << 20 }
        try await stopsMoving { sent() }
        #expect(sent() <= Self.size - 7 << 20)
        #expect(try fixture.store.transfer(id)?.upload?.isEnding == nil && app.events.isEmpty)
      }
      #expect(try await app.nextEvent().download != nil)
      #expect(try fixture.store.transfer(id)?.upload?.isEnding == true)
      #expect(server.requests.map(\.body.digest) == [BytePattern().digest(count: Int64(Self.size))])
    }
  }

  /// They do not leave, and the request is made again: the server can't have acted on a part of it.
  @Test func theLastBytesDoNotLeaveWhereTheQueueCanNotKnowOfThem() async throws {
    let (arrived, goOn) = (Gate(), Gate())
    let first = Reply([.readRequestBody(upTo: 1000), .open(arrived), .waitFor(goOn), .readRequestBody(), .stall])
    try await UploadDesk(["POST": [first, UploadDesk.take()]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      let id = try #require(
        try await app.create([.upload(try Self.file(fixture, count: Self.size), to: Self.url(server))]).first)
      try await arrived.wait(within: patience)
      try fixture.store.database.write {
        try $0.execute(
          sql: "CREATE TRIGGER refusing BEFORE UPDATE OF upload ON transfers BEGIN SELECT RAISE(ABORT, 'no'); END")
      }
      goOn.open()
      _ = try await app.nextRetry()
      try fixture.store.database.write { try $0.execute(sql: "DROP TRIGGER refusing") }
      #expect(try fixture.store.transfer(id)?.upload?.isEnding == nil)
      await fixture.advance(by: 700)
      #expect(try await app.nextEvent().download != nil)
      #expect(server.heads.count == 2)
    }
  }

  /// Of a queue that is lost, the journal alone tells that the server may have had it.
  @Test(arguments: [1000, 9 << 20])
  func noServerHearsOfARequestThatDoesHarmTwiceBeforeItsJournalCanBeWritten(count: Int) async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      fixture.disk.set([.init(.write, code: EIO, path: "/journals/")])
      _ = try await app.create([.upload(try Self.file(fixture, count: count), to: Self.url(server))])
      _ = try await app.next {
        if case .transferChanged(let status) = $0, status.waiting?.code == "storageUnavailable" { true } else { nil }
      }
      #expect(server.heads.isEmpty)
      fixture.disk.set([])
      await fixture.advance(by: 60)
      try await eventually("the storage to be found well") {
        fixture.engine.queue.sync { fixture.engine.storage.isAvailable }
      }
      await fixture.advance(by: 1)
      #expect(try await app.nextEvent().download != nil)
      #expect(server.heads.count == 1)
    }
  }

  /// A server that knows the upload no more may have acted on it.
  @Test func aRequestThatArrivedIsNotRepeatedWhereItsPlaceIsGone() async throws {
    let arrived = Gate()
    let desk = UploadDesk([
      "POST": [Reply([UploadDesk.offer, .readRequestBody(), .open(arrived), .stall]), UploadDesk.take()],
      "HEAD": [.status(404)],
    ])
    try await desk.run { fixture, server in
      let first = fixture.client()
      try await first.begin()
      _ = try await first.create([.upload(try Self.file(fixture, count: 2 << 20), to: Self.url(server))])
      try await arrived.wait(within: patience)
      let app = try await fixture.nextLife().client()
      try await app.begin()
      #expect(try await app.nextEvent().completion?.failure != nil)
      #expect(server.heads.map(\.method) == ["POST", "HEAD"])
    }
  }

  /// A server does not act on a request of which it has a part.
  @Test func aRequestThatWasCutIsRepeated() async throws {
    let desk = UploadDesk(["POST": [Reply([.readRequestBody(upTo: 1000), .reset]), UploadDesk.take()]])
    try await desk.run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      _ = try await app.create([.upload(try Self.file(fixture, count: Self.size), to: Self.url(server))])
      #expect(try await Self.nextEvent(app, fixture).download != nil)
      #expect(server.heads.count == 2)
      #expect(server.requests.last?.body.digest == BytePattern().digest(count: Int64(Self.size)))
    }
  }

  /// The request can't have reached a server without a connection.
  @Test func aRequestThatNeverBeganIsRepeated() async throws {
    let port = try UnservedPort.shared.get()
    try await withEngine { fixture in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      _ = try await app.create([.upload(try Self.file(fixture), to: "http://127.0.0.1:\(port.number)/")])
      _ = try await app.nextRetry()
      await fixture.advance(by: 700)
      _ = try await app.nextRetry()
      #expect(app.events.isEmpty)
    }
  }

  /// The copies are gone with their folder, and the app's file is what it was.
  @Test func aLostCopyIsReplacedByTheFile() async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      let id = try #require(
        try await app.create([.upload(try Self.file(fixture), to: Self.url(server), running: false)]).first)
      try fixture.files.removeUpload(id)
      try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      #expect(try await app.nextEvent().download != nil)
      #expect(server.requests.first?.body.bytes == Self.bytes(600_000))
    }
  }

  /// Nothing is sent that a link in the place of the copy leads to.
  @Test(arguments: [true, false]) func aCopyThatIsNoFileIsReplacedByTheFile(isLink: Bool) async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      let id = try #require(
        try await app.create([.upload(try Self.file(fixture), to: Self.url(server), running: false)]).first)
      try fixture.files.removeUpload(id)
      let copy = fixture.files.upload(id)
      #expect((isLink ? symlink("/etc/hostname", copy) : mkdir(copy, 0o700)) == 0)
      try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      #expect(try await app.nextEvent().download != nil)
      #expect(server.requests.first?.body.bytes == Self.bytes(600_000))
      let dated = try #require(fixture.names("set-aside").first)
      #expect(fixture.names("set-aside/\(dated)/uploads") == ["\(id)"])
    }
  }

  /// Where the server has dropped what it had.
  @Test func anUploadWhosePlaceIsGoneBeginsAnew() async throws {
    let desk = UploadDesk([
      "PUT": [UploadDesk.stall, UploadDesk.take()],
      "HEAD": [.status(404)],
    ])
    try await desk.run { fixture, server in
      let first = fixture.client()
      try await first.begin()
      let description = TransferDescription.upload(try Self.file(fixture), to: Self.url(server), method: "PUT")
      let id = try #require(try await first.create([description]).first)
      try await eventually("the place in the queue") { try Self.place(fixture, id) != nil }
      let next = try await fixture.nextLife()
      _ = try await server.nextRequest()
      let app = next.client()
      try await app.begin()
      #expect(try await app.nextEvent().download != nil)
      #expect(server.heads.map(\.method) == ["PUT", "HEAD", "PUT"])
      #expect(server.requests.last?.body.bytes == Self.bytes(600_000))
    }
  }

  // MARK: Cancelling

  @Test func aCancelledUploadGoesOnInANewTask() async throws {
    let desk = UploadDesk([
      "POST": [UploadDesk.stall], "HEAD": [UploadDesk.has(1000)],
      "PATCH": [UploadDesk.take()],
    ])
    try await desk.run { fixture, server in
      let path = try Self.file(fixture)
      let app = fixture.client()
      try await app.begin()
      let id = try #require(try await app.create([.upload(path, to: Self.url(server))]).first)
      try await eventually("the place in the queue") { try Self.place(fixture, id) != nil }
      let cancel = CancelTask(session: "s", taskIdentifier: 1, producingResumePoint: true)
      guard case .cancelled(let answer) = try await app.ask(.cancelTask(cancel)), let point = answer.uploadPoint else {
        Issue.record("there is nothing to go on with")
        return
      }
      _ = try await app.nextEvent()
      var description = TransferDescription.upload(path, to: Self.url(server), task: 2)
      description.upload?.point = point
      _ = try await app.create([description])
      #expect(try await app.nextEvent().download != nil)
      #expect(server.heads.map(\.method) == ["POST", "HEAD", "PATCH"])
    }
  }

  // MARK: On the way

  @Test func aRedirectGetsTheFileToo() async throws {
    let desk = UploadDesk([
      "POST": [UploadDesk.take(307, fields: [("Location", "/there")]), UploadDesk.take(200, text: "there")]
    ])
    try await desk.run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.upload(try Self.file(fixture), to: Self.url(server))])
      #expect(try await app.nextEvent().download?.byteCount == 5)
      #expect(server.requests.map(\.target) == ["/upload", "/there"])
      #expect(server.requests.map(\.body.count) == [600_000, 600_000])
    }
  }

  @Test func aServerThatAsksIsAnsweredByTheApp() async throws {
    let desk = UploadDesk([
      "POST": [
        UploadDesk.take(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)]), UploadDesk.take(),
      ]
    ])
    try await desk.run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.upload(try Self.file(fixture), to: Self.url(server))])
      let question = try await app.next { if case .challenge(let question) = $0 { question } else { nil } }
      try await app.ask(
        .answerChallenge(
          ChallengeAnswered(
            session: "s", number: question.number,
            disposition: .useCredential(.password(user: "ann", password: "secret", persistence: 1)))))
      #expect(try await app.nextEvent().download != nil)
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true])
      #expect(server.requests.last?.body.bytes == Self.bytes(600_000))
    }
  }
}
