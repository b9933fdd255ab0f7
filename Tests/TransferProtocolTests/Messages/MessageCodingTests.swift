import Foundation
import Testing
import TransferProtocol

@Suite struct MessageCodingTests {
  static let description: TransferDescription = {
    var request = RequestDescription(
      url: "https://example.com/a?b=c", method: "POST", headers: [HeaderField("A", "1"), HeaderField("a", "2")],
      body: Data([0, 255]))
    request.allowsExpensiveNetworkAccess = false
    request.timeoutInterval = 12.5
    var description = TransferDescription(token: "t-1", taskIdentifier: 3, request: request)
    description.earliestBeginDate = Date(timeIntervalSince1970: 1_700_000_000)
    description.expectation = ContentExpectation(sha256: Data(repeating: 1, count: 32), byteCount: 7)
    description.retry = RetryDescription()
    description.retry?.maximumAttempts = 3
    description.bytesPerSecond = 5_000
    description.resumePoint = ResumePoint(path: "/a", offset: 5, url: "https://example.com/a")
    return description
  }()

  static let question: ChallengeQuestion = {
    var space = ProtectionSpaceDescription(host: "h", port: 443, authenticationMethod: "Basic")
    space.scheme = "https"
    space.realm = "here"
    space.certificates = [Data([1, 2])]
    return ChallengeQuestion(
      session: "s", taskIdentifier: 1, number: 7, space: space, previousFailureCount: 2,
      response: ResponseSummary(url: "u", status: 401), proposedUser: "ann")
  }()

  static let status = TransferStatus(
    transfer: 9, session: "s", taskIdentifier: 3, kind: .download, url: "https://example.com/", state: .waiting,
    created: Date(timeIntervalSince1970: 5))

  static let measured: Completion = {
    var failure = TransferFailure(domain: "NSURLErrorDomain", code: -1_016, message: "m")
    failure.mismatch = MismatchDescription()
    failure.mismatch?.expectedSHA256 = Data([1])
    var completion = Completion(
      failure: failure, response: nil, countOfBytesReceived: 1, countOfBytesExpectedToReceive: -1)
    var transaction = TransactionDescription(
      url: "http://a/", method: "GET", headers: [HeaderField("a", "b")], source: .networkLoad)
    transaction.times.fetchStart = Date(timeIntervalSince1970: 7)
    transaction.connection.remotePort = 80
    transaction.bytes.responseBody = 9
    completion.transactions = [transaction]
    return completion
  }()

  static let requests: [ClientRequest] = [
    .hello(Hello(client: "x")), .version, .attach(Attach(session: "s")),
    .sessionTasks(SessionTasks(session: "s", after: 4)), .startDelivery(SessionReference(session: "s")),
    .createTasks(CreateTasks(session: "s", tasks: [description])),
    .createTasks(CreateTasks(session: "s", tasks: [description], files: 1)),
    .resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1, 2])),
    .suspendTasks(TaskSelection(session: "s", taskIdentifiers: [])),
    .cancelTask(CancelTask(session: "s", taskIdentifier: 1, producingResumePoint: true)),
    .cancelTasks(TaskSelection(session: "s", taskIdentifiers: [1, 2])),
    .updateTask(UpdateTask(session: "s", taskIdentifier: 1)),
    .acknowledge(Acknowledge(session: "s", sequences: [1, 3])),
    .keepEvents(Acknowledge(session: "s", sequences: [2])),
    .doneHandlingEvents(SessionReference(session: "s")),
    .invalidate(SessionReference(session: "s")), .listTransfers(ListTransfers()),
    .showTransfer(TransferReference(transfer: 1)), .cancelTransfer(TransferReference(transfer: 2)),
    .watch(Watch(transfers: [1])),
    .answerChallenge(
      ChallengeAnswered(
        session: "s", number: 7,
        disposition: .useCredential(.password(user: "ann", password: "p:ä", persistence: 1)))),
    .answerChallenge(ChallengeAnswered(session: "s", number: 7, disposition: .useCredential(.trust))),
    .answerChallenge(ChallengeAnswered(session: "s", number: 7, disposition: .useCredential(nil))),
    .answerChallenge(ChallengeAnswered(session: "s", number: 7, disposition: .isLeftOut)),
    .attach(Attach(session: "s", answersDelayedRequests: true)), .editTransfer(EditTransfer(transfer: 7)),
    .answerDelayedRequest(DelayedRequestAnswered(session: "s", number: 7, disposition: .continueLoading)),
    .answerDelayedRequest(DelayedRequestAnswered(session: "s", number: 7, disposition: .cancel)),
    .answerDelayedRequest(
      DelayedRequestAnswered(
        session: "s", number: 7,
        disposition: .useNewRequest(RequestDescription(url: "http://a/", headers: [HeaderField("a", "b")])))),
    .answerDelayedRequest(
      DelayedRequestAnswered(
        session: "s", number: 7,
        disposition: .fail(TransferFailure(domain: "NSURLErrorDomain", code: -1, message: "m")))),
    .limit(LimitTransfers(subject: .transfer(7), limit: BandwidthLimit(bytesPerSecond: 2_000))),
    .limit(
      LimitTransfers(subject: .service, limit: BandwidthLimit(bytesPerSecond: nil, hours: DailyHours("08:00-18:00")))),
    .limitApp(LimitApp(app: "/usr/bin/app", limit: BandwidthLimit(bytesPerSecond: 2_000))),
    .limitApp(LimitApp(app: "/usr/bin/app", session: "s", limit: BandwidthLimit(bytesPerSecond: nil))),
  ]

  /// A message that is printed by mistake shows no password.
  @Test func noDescriptionOfAnAnswerHasThePassword() {
    let answer = ClientRequest.answerChallenge(
      ChallengeAnswered(
        session: "s", number: 7,
        disposition: .useCredential(.password(user: "ann", password: "hunter2", persistence: 1))))
    var dumped = ""
    dump(answer, to: &dumped)
    for text in ["\(answer)", String(reflecting: answer), dumped] {
      #expect(text.contains("ann") && !text.contains("hunter2"), "\(text)")
    }
  }

  @Test(arguments: requests)
  func requestsSurviveTheWire(request: ClientRequest) throws {
    let message = ClientMessage(id: 42, request: request)
    let json = try MessageFraming.encode(message)
    #expect(try MessageFraming.decode(ClientMessage.self, from: json) == message)
  }

  static let messages: [ServiceMessage] = [
    .reply(to: 1, .done),
    .reply(to: 1, .hello(HelloReply(version: 1, service: ServiceVersion(program: "1", processIdentifier: 2)))),
    .reply(to: 1, .version(ServiceVersion(program: "1", processIdentifier: 2))),
    .reply(
      to: 1,
      .attached(
        Attached(
          page: TaskPage(tasks: [TransferSnapshot(description: description, status: status)], next: 3),
          nextTaskIdentifier: 4, pendingEventCount: 2, willFinishEvents: true))),
    .reply(to: 1, .tasks(TaskPage())), .reply(to: 1, .created(CreatedTasks(transfers: [1]))),
    .reply(to: 1, .cancelled(CancelledTask())), .reply(to: 1, .transfers(TransferPage(transfers: [status]))),
    .reply(to: 1, .transfers(TransferPage(limits: [BandwidthLimit(bytesPerSecond: 5)]))),
    .reply(to: 1, .transfer(TransferSnapshot(description: description, status: status))),
    .reply(to: 1, .refused(Refusal(.inUse, "no"))),
    .push(
      .event(
        SequencedEvent(
          session: "s", sequence: 1, taskIdentifier: 2,
          event: .finishedDownloading(FinishedDownload(path: "/x", response: nil, byteCount: 3))))),
    .push(
      .event(
        SequencedEvent(
          session: "s", sequence: 2, taskIdentifier: 2,
          event: .completed(
            Completion(
              failure: TransferFailure(domain: "NSURLErrorDomain", code: -999, message: "m"),
              response: ResponseSummary(url: "http://a/", status: 404, headers: [HeaderField("a", "b")]),
              countOfBytesReceived: 1, countOfBytesExpectedToReceive: -1))))),
    .push(.eventsFinished(SessionReference(session: "s"))),
    .push(
      .progress(
        DownloadProgress(session: "s", taskIdentifier: 1, totalBytesWritten: .max, totalBytesExpectedToWrite: -1))),
    .push(.sent(UploadProgress(session: "s", taskIdentifier: 1, totalBytesSent: .max, totalBytesExpectedToSend: -1))),
    .push(
      .responseReceived(
        ResponseReceived(session: "s", taskIdentifier: 1, response: ResponseSummary(url: "u", status: 200)))),
    .push(.resumedAtOffset(ResumedAtOffset(session: "s", taskIdentifier: 1, offset: 5, expectedTotal: 9))),
    .push(
      .waiting(
        WaitingTasks(
          session: "s",
          tasks: [
            .init(taskIdentifier: 1, waiting: nil),
            .init(taskIdentifier: 2, waiting: WaitingStatus(code: "retry", sentence: "Broken.")),
          ]))),
    .push(.event(SequencedEvent(session: "s", sequence: 3, taskIdentifier: 2, event: .completed(measured)))),
    .push(.delayedRequest(DelayedRequestQuestion(session: "s", taskIdentifier: 1, number: .max))),
    .push(
      .delayedRequest(
        DelayedRequestQuestion(
          session: "s", taskIdentifier: 1, number: 2,
          request: RequestDescription(url: "http://h/f", headers: [HeaderField("A", "b")])))),
    .push(.transferChanged(status)), .push(.challenge(question)), .push(.sendFiles(FilesWanted(request: .max))),
  ]

  @Test(arguments: messages)
  func repliesAndPushesSurviveTheWire(message: ServiceMessage) throws {
    let json = try MessageFraming.encode(message)
    #expect(try MessageFraming.decode(ServiceMessage.self, from: json) == message)
  }

  @Test func unknownMessagesAreKeptByName() throws {
    let request = Data(#"{"id":5,"request":"teleport","body":{"x":1},"more":true}"#.utf8)
    #expect(try MessageFraming.decode(ClientMessage.self, from: request).request == .unknown("teleport"))
    let push = Data(#"{"push":"weather","body":[1]}"#.utf8)
    #expect(try MessageFraming.decode(ServiceMessage.self, from: push) == .push(.unknown("weather")))
    let reply = Data(#"{"replyTo":5,"reply":"maybe"}"#.utf8)
    #expect(try MessageFraming.decode(ServiceMessage.self, from: reply) == .reply(to: 5, .unknown("maybe")))
    let refusal = Data(#"{"reason":"moon","message":"m"}"#.utf8)
    #expect(try MessageFraming.decode(Refusal.self, from: refusal).reason == .other)
  }

  @Test func theWireFormIsStable() throws {
    let message = ClientMessage(id: 7, request: .attach(Attach(session: "s")))
    #expect(
      String(decoding: try MessageFraming.encode(message), as: UTF8.self)
        == #"{"body":{"options":{},"session":"s"},"id":7,"request":"attach"}"#)
    #expect(
      String(decoding: try MessageFraming.encode(HeaderField("A", "b")), as: UTF8.self) == #"["A","b"]"#)
  }
}
