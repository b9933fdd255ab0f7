import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Transfers whose earliest date has come, and the app that says how they begin.
@Suite struct TransferEngineDelayedRequestsTests {
  private static let hour: TimeInterval = 3_600

  private func description(in fixture: EngineFixture, running: Bool = true) -> TransferDescription {
    var description = TransferDescription.download(
      "http://h/f", running: running, headers: [HeaderField("Authorization", "old"), HeaderField("Accept", "a/b")])
    description.request.allowsExpensiveNetworkAccess = false
    description.earliestBeginDate = fixture.clock.date + Self.hour
    return description
  }

  /// Runs `body` with an app that has a transfer whose date is an hour away.
  private func withTransfer(
    isAsked: Bool? = true, _ set: @escaping @Sendable (inout TransferEngine.Settings) -> Void = { _ in },
    _ body: (EngineFixture, ScriptedRunner, FakeClient, TransferID) async throws -> Void
  ) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, set) { fixture in
      let app = fixture.client()
      try await app.begin(answersDelayedRequests: isAsked)
      let id = try await app.create([description(in: fixture)])[0]
      try await body(fixture, runner, app, id)
    }
  }

  /// Runs `body` with an app that is asked, once, about a transfer whose date has come.
  private func withQuestion(
    _ set: @escaping @Sendable (inout TransferEngine.Settings) -> Void = { _ in },
    _ body: (EngineFixture, ScriptedRunner, FakeClient, TransferID, DelayedRequestQuestion) async throws -> Void
  ) async throws {
    try await withTransfer(set) { fixture, runner, app, id in
      await fixture.settle()
      #expect(app.delayedQuestions.isEmpty, "its date has not come")
      await fixture.advance(by: Self.hour)
      let question = try await app.nextDelayedQuestion()
      #expect(question.session == "s" && question.taskIdentifier == 1)
      #expect(runner.running == [])
      #expect(try await app.status(id).waiting?.code == "delayedRequest")
      try await body(fixture, runner, app, id, question)
      #expect(app.delayedQuestions.count == 1, "it is asked once")
      #expect(fixture.launcher.launches.all.isEmpty)
    }
  }

  private func answer(
    _ question: DelayedRequestQuestion, _ disposition: DelayedRequestAnswered.Disposition
  ) -> ClientRequest {
    .answerDelayedRequest(
      DelayedRequestAnswered(session: question.session, number: question.number, disposition: disposition))
  }

  // MARK: Answers

  @Test func itBeginsAsItIsWhereTheAppSaysSo() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      let reply = try await app.ask(answer(question, .continueLoading))
      #expect(reply == .done)
      await fixture.settle()
      #expect(runner.job(id)?.request.headers.first == HeaderField("Authorization", "old"))
      // What comes after the beginning is not asked about.
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      runner.end(id, .retry(failure, kept: KeptBytes(0), received: 0))
      try await eventually("the failure to be written") { try fixture.store.transfer(id)?.head.failures == 1 }
      await fixture.advance(by: Self.hour)
      try await eventually("it to run again") { runner.running == [id] }
      // Nor does a late answer change anything.
      #expect(try await app.refusal(answer(question, .cancel)) == .unknownTask)
      await fixture.settle()
      #expect(runner.running == [id])
    }
  }

  /// Apple: the networks of the original request count, whatever the new one says.
  @Test func itBeginsWithTheAppsNewRequest() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      var request = RequestDescription(
        url: "http://u:secret@other/g", method: "POST", headers: [HeaderField("Authorization", "new")],
        body: Data("b".utf8))
      request.allowsExpensiveNetworkAccess = true
      #expect(try await app.ask(answer(question, .useNewRequest(request))) == .done)
      await fixture.settle()
      let job = try #require(runner.job(id))
      #expect(job.request.url == "http://u@other/g" && job.password?.text() == "secret")
      #expect(job.request.method == "POST" && job.request.body == Data("b".utf8))
      #expect(job.request.headers == [HeaderField("Authorization", "new")])
      #expect(job.request.allowsExpensiveNetworkAccess == false)
      let stored = try #require(try fixture.store.transfer(id))
      #expect(stored.head.host == "other" && stored.description.request.headers.isEmpty)
      #expect(stored.sealedRequest != nil, "the fields are not in the clear")
    }
  }

  @Test func itIsCancelledWhereTheAppSaysSo() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      #expect(try await app.ask(answer(question, .cancel)) == .done)
      let failure = try await app.nextEvent().completion?.failure
      #expect(failure?.code == URLError.Code.cancelled.rawValue && failure?.cancelReason == nil)
      #expect(runner.running == [])
    }
  }

  static let unfit: [(DelayedRequestAnswered.Disposition, Refusal.Reason?)] = [
    (.useNewRequest(RequestDescription(url: "file:///etc/passwd")), .invalidRequest),
    (
      .useNewRequest(
        RequestDescription(
          url: "http://h/f", method: "POST", body: Data(count: RequestDescription.maximumBodyLength + 1))), .tooLarge
    ), (.fail(TransferFailure(domain: NSURLErrorDomain, code: URLError.Code.unknown.rawValue, message: "No.")), nil),
  ]

  @Test(arguments: unfit) func itFailsWithARequestThatItCanNotHave(
    disposition: DelayedRequestAnswered.Disposition, reason: Refusal.Reason?
  ) async throws {
    try await withQuestion { fixture, runner, app, id, question in
      #expect(try await app.refusal(answer(question, disposition)) == reason)
      let failure = try #require(try await app.nextEvent().completion?.failure)
      #expect(failure.code == URLError.Code.unknown.rawValue && !failure.message.isEmpty)
      #expect(runner.running == [])
    }
  }

  @Test func aNewRequestCountsAgainstTheAppsQuota() async throws {
    try await withQuestion({ $0.quotas.queueBytes = 2_000 }) { fixture, runner, app, id, question in
      let long = RequestDescription(url: "http://h/" + String(repeating: "x", count: 2_000))
      #expect(try await app.refusal(answer(question, .useNewRequest(long))) == .tooLarge)
      let failure = try #require(try await app.nextEvent().completion?.failure)
      #expect(failure.message.contains("quota is 2000"))
      #expect(runner.running == [])
    }
  }

  @Test func anEditCountsAgainstTheAppsQuota() async throws {
    try await withQuestion({ $0.quotas.queueBytes = 2_000 }) { fixture, runner, app, id, question in
      var edit = EditTransfer(transfer: id)
      edit.url = "http://h/" + String(repeating: "x", count: 2_000)
      let refusal = try await app.refusal(.editTransfer(edit))
      #expect(refusal == .tooLarge)
      try await app.ask(answer(question, .continueLoading))
      await fixture.settle()
      #expect(runner.job(id)?.request.url == "http://h/f")
    }
  }

  @Test func aFailureOfTheAppIsCutShort() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      let long = String(repeating: "x", count: 10_000)
      var failure = TransferFailure(domain: long, code: 7, message: long, url: long)
      failure.underlyingDomain = long
      failure.mismatch = MismatchDescription()
      #expect(try await app.ask(answer(question, .fail(failure))) == .done)
      let told = try #require(try await app.nextEvent().completion?.failure)
      #expect(told.domain.count == 200 && told.message.count == 2_000 && told.code == 7)
      #expect(told.url == nil && told.underlyingDomain == nil && told.mismatch == nil)
    }
  }

  // MARK: No answer

  @Test func itBeginsAsItIsWhereTheAppSaysNothingForTooLong() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      await fixture.advance(by: 50)
      #expect(runner.running == [])
      await fixture.advance(by: 11)
      #expect(runner.running == [id])
      var request = RequestDescription(url: "http://h/late")
      request.headers = [HeaderField("Accept", "late")]
      let refusal = try await app.refusal(answer(question, .useNewRequest(request)))
      #expect(refusal == .unknownTask)
      await fixture.settle()
      #expect(runner.job(id)?.request.url == "http://h/f")
    }
  }

  @Test func itBeginsAsItIsWhereItsAppGoes() async throws {
    try await withQuestion { fixture, runner, app, id, _ in
      app.disconnect()
      await fixture.settle()
      #expect(runner.running == [id])
    }
  }

  /// Apple: only an app that runs is asked. It is not started for that.
  @Test func itBeginsAsItIsWhereNoAppHoldsTheSession() async throws {
    try await withTransfer { fixture, runner, app, id in
      app.disconnect()
      await fixture.advance(by: Self.hour)
      #expect(runner.running == [id])
      #expect(fixture.launcher.launches.all.isEmpty)
    }
  }

  @Test func anOlderLibraryIsNotAsked() async throws {
    try await withTransfer(isAsked: nil) { fixture, runner, app, id in
      await fixture.advance(by: Self.hour)
      #expect(runner.running == [id] && app.delayedQuestions.isEmpty)
    }
  }

  /// It is asked when it takes pushes.
  @Test func anAppThatHasJustComeIsAsked() async throws {
    try await withTransfer { fixture, runner, app, id in
      app.disconnect()
      await fixture.settle()
      let next = fixture.client()
      try await next.greet()
      _ = try await next.attach(answersDelayedRequests: true)
      await fixture.advance(by: Self.hour)
      #expect(runner.running == [] && next.delayedQuestions.isEmpty)
      try await next.ask(.startDelivery(SessionReference(session: "s")))
      try await next.ask(answer(try await next.nextDelayedQuestion(), .continueLoading))
      await fixture.settle()
      #expect(runner.running == [id])
    }
  }

  // MARK: Meanwhile

  @Test func anAnswerToASuspendedTransferCountsWhenItGoesOn() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      let selection = TaskSelection(session: "s", taskIdentifiers: [1])
      try await app.ask(.suspendTasks(selection))
      try await app.ask(answer(question, .useNewRequest(RequestDescription(url: "http://h/g"))))
      await fixture.settle()
      #expect(runner.running == [])
      try await app.ask(.resumeTasks(selection))
      await fixture.settle()
      #expect(runner.job(id)?.request.url == "http://h/g")
    }
  }

  @Test func aNewDateIsAskedAboutWhenItHasCome() async throws {
    try await withTransfer { fixture, runner, app, id in
      await fixture.advance(by: Self.hour)
      let first = try await app.nextDelayedQuestion()
      var update = UpdateTask(session: "s", taskIdentifier: 1)
      update.earliestBeginDate = fixture.clock.date + Self.hour
      try await app.ask(.updateTask(update))
      #expect(try await app.status(id).waiting?.code == "earliestBegin")
      #expect(try await app.refusal(answer(first, .continueLoading)) == .unknownTask)
      await fixture.advance(by: 100)
      #expect(runner.running == [], "the answer was about the former date")
      await fixture.advance(by: Self.hour)
      try await app.ask(answer(try await app.nextDelayedQuestion(), .continueLoading))
      await fixture.settle()
      #expect(runner.running == [id])
    }
  }

  /// The answer to a question about the former request would undo the change.
  @Test func theAppIsAskedAgainAboutARequestThatHasChangedMeanwhile() async throws {
    try await withTransfer { fixture, runner, app, id in
      await fixture.advance(by: Self.hour)
      let first = try await app.nextDelayedQuestion()
      var edit = EditTransfer(transfer: id)
      edit.url = "http://h/edited"
      try await app.ask(.editTransfer(edit))
      let second = try await app.nextDelayedQuestion()
      #expect(first.request?.url == "http://h/f" && second.request?.url == "http://h/edited")
      #expect(second.request?.headers == description(in: fixture).request.headers, "they are asked about opened")
      let late = answer(first, .useNewRequest(RequestDescription(url: "http://h/late")))
      #expect(try await app.refusal(late) == .unknownTask)
      #expect(runner.running == [])
      try await app.ask(answer(second, .continueLoading))
      await fixture.settle()
      #expect(runner.job(id)?.request.url == "http://h/edited")
    }
  }

  /// The app does not know what the user has changed before the date.
  @Test func theAppIsAskedAboutARequestThatHasChangedBefore() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin(answersDelayedRequests: true)
      var task = description(in: fixture)
      (task.request.method, task.request.body) = ("POST", Data("body".utf8))
      let id = try await app.create([task])[0]
      var edit = EditTransfer(transfer: id)
      edit.url = "http://u:secret@h/edited"
      edit.fields = [HeaderField("Authorization", "edited")]
      try await app.ask(.editTransfer(edit))
      await fixture.advance(by: Self.hour)
      let question = try await app.nextDelayedQuestion()
      var request = try #require(question.request)
      #expect(request.url == "http://u@h/edited" && request.body == nil && request.method == "POST")
      #expect(request.headers.contains(HeaderField("Authorization", "edited")))
      request.body = task.request.body
      try await app.ask(answer(question, .useNewRequest(request)))
      await fixture.settle()
      let job = try #require(runner.job(id))
      #expect(job.request.url == "http://u@h/edited" && job.password?.text() == "secret")
      #expect(job.request.headers.contains(HeaderField("Authorization", "edited")))
    }
  }

  /// A delegate may change the request whenever it is asked.
  @Test func theAppIsNotAskedAgainWithoutEnd() async throws {
    try await withTransfer { fixture, runner, app, id in
      await fixture.advance(by: Self.hour)
      for number in 0...TransferEngine.askedAgainLimit {
        _ = try await app.nextDelayedQuestion()
        #expect(runner.running == [])
        var edit = EditTransfer(transfer: id)
        edit.url = "http://h/edited\(number)"
        try await app.ask(.editTransfer(edit))
      }
      await fixture.settle()
      #expect(runner.job(id)?.request.url == "http://h/edited\(TransferEngine.askedAgainLimit)")
    }
  }

  /// A rank is no part of the request.
  @Test func theAppIsNotAskedAgainAboutAnotherPriority() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      var edit = EditTransfer(transfer: id)
      edit.priority = 1
      try await app.ask(.editTransfer(edit))
      #expect(try await app.ask(answer(question, .continueLoading)) == .done)
    }
  }

  /// Tasks that have one date: the app is asked about some at a time, and of the rest as it answers.
  private func withManyQuestions(
    _ body: (EngineFixture, ScriptedRunner, FakeClient, [TransferID]) async throws -> Void
  ) async throws {
    let runner = ScriptedRunner()
    let limits = Scheduler.Limits(total: 200, perHost: 200)
    try await withEngine(runner: runner, { $0.limits = limits }) { fixture in
      let app = fixture.client()
      var options = SessionOptions()
      options.httpMaximumConnectionsPerHost = 200
      try await app.begin(options: options, answersDelayedRequests: true)
      let tasks = (1...(AskedQuestions.openLimit + 6)).map { number in
        var task = description(in: fixture)
        (task.token, task.taskIdentifier) = ("token-\(number)", number)
        return task
      }
      let ids = try await app.create(tasks)
      await fixture.advance(by: Self.hour)
      #expect(app.delayedQuestions.count == AskedQuestions.openLimit && runner.running.isEmpty)
      try await body(fixture, runner, app, ids)
    }
  }

  @Test func theRestIsAskedAboutAsTheAppAnswers() async throws {
    try await withManyQuestions { fixture, runner, app, ids in
      for count in 1...ids.count {
        try await app.ask(answer(try await app.nextDelayedQuestion(), .continueLoading))
        await fixture.settle()
        #expect(app.delayedQuestions.count == min(ids.count, AskedQuestions.openLimit + count))
        #expect(runner.running.count == count)
      }
      #expect(Set(app.delayedQuestions.map(\.taskIdentifier)).count == ids.count, "each is asked about once")
    }
  }

  @Test func theRestBeginsAsItIsAfterTheSameTime() async throws {
    try await withManyQuestions { fixture, runner, app, ids in
      await fixture.advance(by: 61)
      #expect(Set(runner.running) == Set(ids))
    }
  }

  @Test func theRestBeginsAsItIsWhereItsAppGoes() async throws {
    try await withManyQuestions { fixture, runner, app, ids in
      app.disconnect()
      await fixture.settle()
      #expect(Set(runner.running) == Set(ids))
    }
  }

  /// The session's tasks are answered for by its holder alone.
  @Test func anotherAppCanNotAnswer() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      let other = fixture.client("/other")
      try await other.begin("s", answersDelayedRequests: true)
      #expect(try await other.refusal(answer(question, .cancel)) == .unknownTask)
      await fixture.settle()
      #expect(try await app.status(id).waiting?.code == "delayedRequest")
    }
  }

  /// No place of a transfer is taken by one that is asked about.
  @Test func othersRunMeanwhile() async throws {
    try await withTransfer({ $0.limits = Scheduler.Limits(total: 1, perHost: 1) }) { fixture, runner, app, _ in
      await fixture.advance(by: Self.hour)
      _ = try await app.nextDelayedQuestion()
      let other = try await app.create([.download("http://h/g", task: 2)])[0]
      await fixture.settle()
      #expect(runner.running == [other])
    }
  }

  /// An answer that can't be kept is refused, and may be given again.
  @Test func anAnswerThatCanNotBeKeptMayBeGivenAgain() async throws {
    try await withQuestion { fixture, runner, app, id, question in
      try fixture.breakQueue("UPDATE ON transfers")
      let new = answer(question, .useNewRequest(RequestDescription(url: "http://h/g")))
      #expect(try await app.refusal(new) == .storage)
      #expect(runner.running == [])
      try fixture.mendQueue()
      #expect(try await app.ask(new) == .done)
      await fixture.settle()
      #expect(runner.job(id)?.request.url == "http://h/g")
    }
  }
}

extension FakeClient {
  fileprivate func nextDelayedQuestion() async throws -> DelayedRequestQuestion {
    try await next { if case .delayedRequest(let question) = $0 { question } else { nil } }
  }

  fileprivate var delayedQuestions: [DelayedRequestQuestion] {
    messages.all.compactMap { if case .push(.delayedRequest(let question)) = $0 { question } else { nil } }
  }
}
