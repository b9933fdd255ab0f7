import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

/// Questions of servers, and the app that answers them.
@Suite struct TransferEngineChallengesTests {
  private static let password = "hunter2-ä"
  private static let right = "Basic " + Data("ann:\(password)".utf8).base64EncodedString()

  @Sendable private static func secret(_ request: RecordedRequest) -> Reply {
    request.value("Authorization") == right
      ? .ok("in") : .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)], body: "who?")
  }

  private static func answer(
    _ question: ChallengeQuestion, _ disposition: ChallengeAnswered.Disposition
  ) -> ClientRequest {
    .answerChallenge(
      ChallengeAnswered(session: question.session, number: question.number, disposition: disposition))
  }

  private static func credential(_ password: String = password) -> ChallengeAnswered.Disposition {
    .useCredential(.password(user: "ann", password: password, persistence: 1))
  }

  // MARK: A real load

  @Test func theAppIsAskedOnceAndItsPasswordIsNotInTheQueue() async throws {
    try await withEngine(serving: Self.secret) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.download(server.url("/a").absoluteString)])
      let question = try await app.nextQuestion()
      #expect(question.session == "s" && question.taskIdentifier == 1 && question.previousFailureCount == 0)
      #expect(question.space.realm == "here" && question.space.port == server.port)
      #expect(question.space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic)
      #expect(question.response?.status == 401 && question.proposedUser == nil)
      try await app.ask(Self.answer(question, Self.credential()))
      let download = try #require(try await app.nextEvent().download)
      #expect(try String(contentsOfFile: download.path, encoding: .utf8) == "in")
      _ = try await app.nextEvent()
      // The next transfer of the session says it unasked.
      _ = try await app.create([.download(server.url("/b").absoluteString, task: 2)])
      #expect(try await app.nextEvent().taskIdentifier == 2)
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true, true])
      for name in try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path) {
        let bytes = FileManager.default.contents(atPath: fixture.folder.path + "/" + name) ?? Data()
        #expect(bytes.range(of: Data(Self.password.utf8)) == nil, "the password is in \(name)")
        #expect(bytes.range(of: Data(Self.right.dropFirst(6).utf8)) == nil, "the credential is in \(name)")
      }
    }
  }

  @Test func aWrongPasswordIsAskedForAgain() async throws {
    try await withEngine(serving: Self.secret) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.download(server.url("/a").absoluteString)])
      let first = try await app.nextQuestion()
      try await app.ask(Self.answer(first, Self.credential("wrong")))
      let second = try await app.nextQuestion()
      #expect(second.previousFailureCount == 1 && second.number != first.number)
      try await app.ask(Self.answer(second, Self.credential()))
      #expect(try await app.nextEvent().download != nil)
    }
  }

  static let refusals: [ChallengeAnswered.Disposition] = [
    .performDefaultHandling, .rejectProtectionSpace, .useCredential(nil), .isLeftOut, .cancelAuthenticationChallenge,
  ]

  @Test(arguments: refusals) func withoutACredentialTheResponseIsDelivered(
    disposition: ChallengeAnswered.Disposition
  ) async throws {
    try await withEngine(serving: Self.secret) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.download(server.url("/a").absoluteString)])
      try await app.ask(Self.answer(try await app.nextQuestion(), disposition))
      let event = try await app.nextEvent()
      if disposition == .cancelAuthenticationChallenge {
        #expect(event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
      } else {
        #expect(event.download?.response?.status == 401)
      }
      #expect(server.requests.count == 1)
    }
  }

  @Test func theCredentialOfTheURLNeedsNoApp() async throws {
    try await withEngine(serving: Self.secret) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      var parts = try #require(URLComponents(url: server.url("/a"), resolvingAgainstBaseURL: true))
      (parts.user, parts.password) = ("ann", Self.password)
      _ = try await app.create([.download(try #require(parts.url).absoluteString, running: false)])
      app.tell(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      app.disconnect()
      let launch = try await fixture.launcher.launches.next()
      launch.ended()
      let next = fixture.client()
      try await next.begin()
      #expect(try await next.nextEvent().download?.response?.status == 200)
      #expect(next.questions.isEmpty)
    }
  }

  @Test func aTransferWaitsForAnAppThatIsNotThere() async throws {
    try await withEngine(serving: Self.secret) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.download(server.url("/a").absoluteString, running: false)])
      app.tell(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      app.disconnect()
      // It is started, since only it can answer.
      let launch = try await fixture.launcher.launches.next()
      launch.ended()
      let next = fixture.client()
      let attached = try await next.begin()
      #expect(attached?.willFinishEvents == true)
      let question = try await next.nextQuestion()
      try await next.ask(Self.answer(question, Self.credential()))
      #expect(try await next.nextEvent().download?.response?.status == 200)
    }
  }

  /// The certificates go to the app, and its decision back. An answer of its own is asked for also when it is not there.
  @Test(arguments: [true, false]) func theAppDecidesAboutAServer(trusts: Bool) async throws {
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("in") }
    try await withEngine { fixture in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      _ = try await app.create([.download(server.url("/a", host: "localhost").absoluteString)])
      let question = try await app.nextQuestion()
      #expect(question.space.authenticationMethod == NSURLAuthenticationMethodServerTrust)
      #expect(question.space.host == "localhost" && question.space.port == server.port)
      #expect((question.space.certificates?.count ?? 0) > 0 && question.response == nil)
      try await app.ask(Self.answer(question, trusts ? .useCredential(.trust) : .performDefaultHandling))
      guard trusts else {
        // By the rules it is not trusted, which may be a portal's on the way: it is tried again.
        #expect(try await app.nextRetry().sentence.contains("not trusted"))
        return
      }
      let event = try await app.nextEvent()
      #expect(event.download?.response?.status == 200)
      try await app.acknowledge([event, try await app.nextEvent()])
      // The connection that is there serves the session's next transfer; a new one waits for the app.
      await server.dropConnections()
      _ = try await app.create([
        .download(server.url("/b", host: "localhost").absoluteString, task: 2, running: false)
      ])
      app.tell(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [2])))
      app.disconnect()
      let launch = try await fixture.launcher.launches.next()
      launch.ended()
      let next = fixture.client()
      try await next.begin()
      try await next.ask(Self.answer(try await next.nextQuestion(), .useCredential(.trust)))
      #expect(try await next.nextEvent().download?.response?.status == 200)
    }
    await server.shutdown()
  }

  /// The certificate and its key go to the server's connection, and not into the queue. A new connection waits for the app.
  @Test(arguments: [true, false]) func theAppGivesAClientCertificate(hasOne: Bool) async throws {
    let files = try TestCertificates.shared().client
    let identity = try SecIdentity(
      pemCertificate: Data(contentsOf: URL(fileURLWithPath: files.certificateFile)),
      pemPrivateKey: Data(contentsOf: URL(fileURLWithPath: files.keyFile)))
    let credential = URLCredential(identity: identity, certificates: nil, persistence: .forSession)
    let answered = try #require(ChallengeAnswered.Credential(credential))
    guard case .certificate(_, let key) = answered else {
      Issue.record("\(answered)")
      return
    }
    var tls = try ServerTLS.localhost()
    tls.clientCertificates = .required
    let server = try await LoopbackServer.start(tls: tls) { _ in .ok("in") }
    try await withEngine { fixture in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      _ = try await app.create([.download(server.url("/a", host: "localhost").absoluteString)])
      try await app.ask(Self.answer(try await app.nextQuestion(), .useCredential(.trust)))
      let question = try await app.nextQuestion()
      #expect(question.space.authenticationMethod == NSURLAuthenticationMethodClientCertificate)
      #expect(question.space.distinguishedNames?.count == 1)
      try await app.ask(Self.answer(question, hasOne ? .useCredential(answered) : .performDefaultHandling))
      let event = try await app.nextEvent()
      guard hasOne else {
        #expect(event.completion?.failure?.code == URLError.Code.clientCertificateRequired.rawValue)
        return
      }
      #expect(event.download?.response?.status == 200)
      for name in try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path) {
        let bytes = FileManager.default.contents(atPath: fixture.folder.path + "/" + name) ?? Data()
        #expect(bytes.range(of: key) == nil && bytes.range(of: key.base64EncodedData()) == nil, "the key is in \(name)")
      }
      try await app.acknowledge([event, try await app.nextEvent()])
      await server.dropConnections()
      _ = try await app.create([.download(server.url("/b", host: "localhost").absoluteString, task: 2)])
      try await app.ask(Self.answer(try await app.nextQuestion(), .useCredential(.trust)))
      try await app.ask(Self.answer(try await app.nextQuestion(), .useCredential(answered)))
      #expect(try await app.nextEvent().download?.response?.status == 200)
    }
    await server.shutdown()
  }

  // MARK: A scripted load

  private static func question(
    _ answers: Recorder<PendingChallenge.Answer>, _ method: String = NSURLAuthenticationMethodHTTPBasic
  ) -> PendingChallenge {
    PendingChallenge(
      ChallengeQuestion(
        session: "", taskIdentifier: 0, number: 0,
        space: ProtectionSpaceDescription(host: "h", port: 80, authenticationMethod: method))
    ) { answers.record($0) }
  }

  private func withRun(
    _ body: (EngineFixture, ScriptedRunner, FakeClient, TransferID) async throws -> Void
  ) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let id = try #require(try await app.create([.download("http://h/")]).first)
      try await eventually("the run") { runner.running == [id] }
      try await body(fixture, runner, app, id)
    }
  }

  @Test func aQuestionEndsWithTheConnectionAndIsAskedAgainOverTheNext() async throws {
    try await withRun { fixture, runner, app, id in
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers)), by: id)
      let question = try await app.nextQuestion()
      app.disconnect()
      guard case .noApp = try await answers.next() else {
        Issue.record("the question stays")
        return
      }
      runner.end(id, .needsApp("Who?", received: 0))
      await fixture.settle()
      #expect(runner.running.isEmpty)
      let next = fixture.client()
      try await next.begin()
      try await eventually("the next run") { runner.running == [id] }
      // An answer that comes too late changes nothing, and neither does one to a question of another session.
      try await next.ask(Self.answer(question, Self.credential()))
      let again = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(again)), by: id)
      let second = try await next.nextQuestion()
      try await next.begin("other")
      var foreign = second
      foreign.session = "other"
      try await next.ask(Self.answer(foreign, Self.credential()))
      #expect(again.all.isEmpty)
      try await next.ask(Self.answer(second, .rejectProtectionSpace))
      guard case .given(.rejectProtectionSpace) = try await again.next() else {
        Issue.record("another answer")
        return
      }
      try runner.finish(id, in: fixture)
    }
  }

  @Test func anAppOfAnOlderLibraryIsNotAsked() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.ask(.hello(Hello(versions: ProtocolVersions(minimum: 2, maximum: 2), client: "old")))
      _ = try await app.attach()
      try await app.ask(.startDelivery(SessionReference(session: "s")))
      let id = try #require(try await app.create([.download("http://h/")]).first)
      try await eventually("the run") { runner.running == [id] }
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers)), by: id)
      guard case .byRules = try await answers.next() else {
        Issue.record("another answer")
        return
      }
      #expect(app.questions.isEmpty)
      try runner.finish(id, in: fixture)
    }
  }

  /// A run that ends takes its questions along.
  @Test func theQuestionOfARunThatEndsIsDropped() async throws {
    try await withRun { fixture, runner, app, id in
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers)), by: id)
      _ = try await app.nextQuestion()
      try runner.finish(id, in: fixture)
      _ = try await answers.next()
      await fixture.settle()
      #expect(fixture.engine.openQuestions == 0)
    }
  }

  /// An app that leaves one server to the rules may judge the next one itself: it is asked again.
  @Test func anAppThatLeftOneServerToTheRulesIsAskedAboutTheNext() async throws {
    try await withRun { fixture, runner, app, id in
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers, NSURLAuthenticationMethodServerTrust)), by: id)
      try await app.ask(Self.answer(try await app.nextQuestion(), .performDefaultHandling))
      _ = try await answers.next()
      try runner.finish(id, in: fixture)
      _ = try await app.nextEvent()
      let second = try #require(try await app.create([.download("http://h/", task: 2)]).first)
      try await eventually("the second run") { runner.running == [second] }
      #expect(runner.job(second)?.areConnectionsAsked == true)
      try runner.finish(second, in: fixture)
    }
  }

  /// An app without a certificate for one server still judges the next one: only a delegate without the method does not.
  @Test(
    arguments: [.rejectProtectionSpace, .useCredential(nil), .performDefaultHandling]
      as [ChallengeAnswered.Disposition])
  func anAppWithoutACertificateIsStillAskedWhomItTrusts(disposition: ChallengeAnswered.Disposition) async throws {
    try await withRun { fixture, runner, app, id in
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers, NSURLAuthenticationMethodClientCertificate)), by: id)
      try await app.ask(Self.answer(try await app.nextQuestion(), disposition))
      _ = try await answers.next()
      #expect(runner.job(id)?.areConnectionsAsked == true)
      try runner.finish(id, in: fixture)
    }
  }

  /// The next life of the service has to know that the app judges its connections.
  @Test func aConnectionThatTheAppJudgesWaitsUntilThatIsOnTheDisk() async throws {
    try await withRun { fixture, runner, app, id in
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers, NSURLAuthenticationMethodServerTrust)), by: id)
      let question = try await app.nextQuestion()
      let other = fixture.client("/other")
      try await other.begin("o")
      let number = try await fixture.holdingQueue {
        let number = app.tell(Self.answer(question, .rejectProtectionSpace))
        try await other.ask(.startDelivery(SessionReference(session: "o")))
        #expect(answers.all.isEmpty && app.reply(to: number) == nil)
        return number
      }
      #expect(try await app.awaitReply(to: number) == .done)
      #expect(try fixture.store.session(1)?.judgesConnections == true)
      guard case .given(.rejectProtectionSpace) = try await answers.next() else {
        Issue.record("another answer")
        return
      }
      try runner.finish(id, in: fixture)
    }
  }

  /// Delegates without the method are those of one task: another one's may pin its server.
  @Test func aTaskWithoutTheMethodDoesNotSpeakForTheOthers() async throws {
    try await withRun { fixture, runner, app, id in
      let second = try #require(try await app.create([.download("http://h/", task: 2)]).first)
      try await eventually("both runs") { runner.running.count == 2 }
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers, NSURLAuthenticationMethodServerTrust)), by: id)
      try await app.ask(Self.answer(try await app.nextQuestion(), .isLeftOut))
      _ = try await answers.next()
      #expect(runner.job(id)?.areConnectionsAsked == false)
      #expect(runner.job(second)?.areConnectionsAsked == true)
      try runner.finish(id, in: fixture)
      try runner.finish(second, in: fixture)
    }
  }

  /// A load makes several connections, and the app comes, goes and decides meanwhile.
  @Test func whatTheAppSaysCountsForTheRunThatIsUnderWay() async throws {
    try await withRun { fixture, runner, app, id in
      let job = try #require(runner.job(id))
      #expect(job.areConnectionsAsked)
      app.disconnect()
      await fixture.settle()
      #expect(!job.areConnectionsAsked)
      let next = fixture.client()
      try await next.begin()
      #expect(job.areConnectionsAsked)
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers, NSURLAuthenticationMethodServerTrust)), by: id)
      try await next.ask(Self.answer(try await next.nextQuestion(), .isLeftOut))
      _ = try await answers.next()
      #expect(!job.areConnectionsAsked)
      // Another process may have another delegate.
      next.disconnect()
      let third = fixture.client()
      try await third.begin()
      let more = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(more, NSURLAuthenticationMethodServerTrust)), by: id)
      try await third.ask(Self.answer(try await third.nextQuestion(), .useCredential(.trust)))
      _ = try await more.next()
      third.disconnect()
      await fixture.settle()
      #expect(job.areConnectionsAsked)
      try runner.finish(id, in: fixture)
    }
  }

  /// Once an app has judged a server by itself, none is trusted without it, in later lives of the service too.
  @Test(arguments: [true, false]) func anAppThatJudgesServersIsAlwaysAsked(judges: Bool) async throws {
    try await withRun { fixture, runner, app, id in
      #expect(runner.job(id)?.areConnectionsAsked == true)
      let answers = Recorder<PendingChallenge.Answer>()
      runner.report(.asked(Self.question(answers, NSURLAuthenticationMethodServerTrust)), by: id)
      let question = try await app.nextQuestion()
      try await app.ask(Self.answer(question, judges ? .useCredential(.trust) : .isLeftOut))
      _ = try await answers.next()
      try runner.finish(id, in: fixture)
      _ = try await app.nextEvent()
      let second = try #require(try await app.create([.download("http://h/", task: 2)]).first)
      try await eventually("the second run") { runner.running == [second] }
      // The delegates of another task may have the method.
      #expect(runner.job(second)?.areConnectionsAsked == true)
      app.disconnect()
      let next = try await fixture.nextLife()
      try await eventually("the run of the next life") { runner.running == [second] }
      #expect(runner.job(second)?.areConnectionsAsked == judges)
      try runner.finish(second, in: next)
    }
  }
}

extension FakeClient {
  /// The next question that the app is asked.
  func nextQuestion() async throws -> ChallengeQuestion {
    try await next { if case .challenge(let question) = $0 { question } else { nil } }
  }

  var questions: [ChallengeQuestion] {
    messages.all.compactMap { if case .push(.challenge(let question)) = $0 { question } else { nil } }
  }
}

extension DownloadJob {
  fileprivate var areConnectionsAsked: Bool { connectionQuestions.areAsked(by: id) }
}

extension TransferEngine {
  fileprivate var openQuestions: Int { queue.sync { questions.count } }
}
