import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Requests of a person about transfers.
@Suite struct TransferEngineTendingTests {
  private func reference(_ id: Int64) -> TransferReference { TransferReference(transfer: id) }

  /// A transfer that runs, and its app.
  private func begin(in fixture: EngineFixture) async throws -> (app: FakeClient, id: Int64) {
    let app = fixture.client()
    try await app.begin()
    let id = try await app.create([.download("http://h/")])[0]
    await fixture.settle()
    return (app, id)
  }

  @Test func aPauseOutlivesTheAppsResumeAndTheService() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let (app, id) = try await begin(in: fixture)
      #expect(runner.running == [id])
      let person = fixture.client()
      try await person.greet()
      #expect(try await person.ask(.holdTransfer(reference(id))) == .done)
      await fixture.settle()
      #expect(runner.running == [])
      var shown = try await person.status(id)
      #expect(shown.state == .waiting && shown.waiting?.code == "pausedByUser")
      #expect(shown.waiting?.sentence == "It is paused by the user.")

      try await app.ask(.suspendTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      #expect(try await person.status(id).state == .suspended)
      try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      await fixture.settle()
      #expect(runner.running == [])
      #expect(try await person.refusal(.retryTransfer(reference(id))) == .invalidRequest)

      // Another life of the service.
      let heads = try fixture.store.unfinishedHeads()
      #expect(heads.map(\.isHeld) == [true] && heads.map(\.state) == [.active])
      #expect(LiveTransfer(heads[0]).machine.hold == TransferMachine.Hold(goesOn: true))

      #expect(try await person.ask(.releaseTransfer(reference(id))) == .done)
      await fixture.settle()
      #expect(runner.running == [id])
      shown = try await person.status(id)
      #expect(shown.state == .running && shown.waiting == nil)
      #expect(try fixture.store.unfinishedHeads().map(\.isHeld) == [false])
    }
  }

  @Test func aRetryEndsTheWait() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let (app, id) = try await begin(in: fixture)
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      for _ in 1...4 {
        runner.end(id, .retry(failure, kept: KeptBytes(0), received: 0))
        await fixture.settle()
        #expect(runner.running == [])
        #expect(try await app.ask(.retryTransfer(reference(id))) == .done)
        await fixture.settle()
        #expect(runner.running == [id])
      }
      try await app.ask(.cancelTransfer(reference(id)))
      #expect(try await app.refusal(.retryTransfer(reference(id))) == .invalidRequest)
      #expect(try await app.refusal(.holdTransfer(reference(id))) == .invalidRequest)
    }
  }

  @Test func anEditedRequestIsSentFromWhereItIs() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let fields = [HeaderField("Authorization", "old"), HeaderField("X-Old", "1"), HeaderField("Accept", "a/b")]
      let id = try await app.create([.download("http://h/f?sign=1", headers: fields)])[0]
      await fixture.settle()
      try fixture.store.commit(
        offset: 4, representation: .init(response: ResponseSummary(url: "http://h/f", status: 200), expectedTotal: 9),
        of: id)
      var edit = EditTransfer(transfer: id)
      edit.url = "http://u:secret@h/f?sign=2"
      edit.fields = [HeaderField("authorization", "new")]
      edit.removedFields = ["x-old"]
      edit.priority = 0.75
      edit.allowsExpensiveNetworkAccess = false
      #expect(try await app.ask(.editTransfer(edit)) == .done)
      await fixture.settle()
      let job = try #require(runner.job(id))
      #expect(job.request.url == "http://u@h/f?sign=2", "the password is kept elsewhere")
      #expect(job.password?.text() == "secret")
      #expect(job.request.headers == [HeaderField("Accept", "a/b"), HeaderField("authorization", "new")])
      #expect(job.request.allowsExpensiveNetworkAccess == false && job.request.allowsCellularAccess == nil)
      #expect(job.priority == 0.75)
      let stored = try #require(try fixture.store.transfer(id))
      #expect(stored.description.request.headers.isEmpty && stored.sealedRequest != nil)
      #expect(job.committedOffset == 4, "the bytes belong to the same resource")
      #expect(runner.startedTwice == [])
    }
  }

  /// While a run is under way it may still count bytes of the former resource.
  @Test(arguments: [true, false]) func aNewResourceStartsOver(_ runs: Bool) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let id = try await app.create([.download("http://h/f", running: runs)])[0]
      await fixture.settle()
      try fixture.store.commit(
        offset: 4, representation: .init(response: ResponseSummary(url: "http://h/f", status: 200), expectedTotal: 9),
        of: id)
      var edit = EditTransfer(transfer: id)
      edit.url = "http://other/f"
      #expect(try await app.ask(.editTransfer(edit)) == .done)
      if !runs { try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1]))) }
      await fixture.settle()
      let job = try #require(runner.job(id))
      #expect(job.committedOffset == 0 && job.response == nil && job.request.url == "http://other/f")
      #expect(try fixture.store.transfer(id)?.head.host == "other")
    }
  }

  /// Tells a run that is slow to stop that its resource is another one.
  private func withEditOfARun(
    _ body: (EngineFixture, ScriptedRunner, _ app: FakeClient, _ person: FakeClient, _ number: UInt64) async throws ->
      Void
  ) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      defer { runner.releaseStops() }
      let (app, id) = try await begin(in: fixture)
      try #require(runner.running == [id] && id == 1)
      let person = fixture.client()
      try await person.greet()
      runner.holdStops()
      var edit = EditTransfer(transfer: id)
      edit.url = "http://other/f"
      let number = person.tell(.editTransfer(edit))
      try await eventually("the run to be told to stop") { runner.stopping == [id] }
      try await body(fixture, runner, app, person, number)
    }
  }

  /// A run counts bytes until it has stopped, and a crash may come before the next one begins.
  @Test func noBytesOfTheFormerResourceCountOnceTheEditIsAnswered() async throws {
    try await withEditOfARun { fixture, runner, _, person, number in
      try fixture.store.commit(
        offset: 4, representation: .init(response: ResponseSummary(url: "http://h/", status: 200), expectedTotal: 9),
        of: 1)
      #expect(person.reply(to: number) == nil)
      runner.releaseStops()
      #expect(try await person.awaitReply(to: number) == .done)
      let stored = try #require(try fixture.store.transfer(1))
      #expect(stored.head.committedOffset == 0 && stored.response == nil && stored.head.expectedTotal == -1)
      #expect(stored.description.request.url == "http://other/f")
      try await eventually("it to run anew") { runner.job(1)?.request.url == "http://other/f" }
      #expect(runner.startedTwice == [])
    }
  }

  @Test func anEditThatComesTooLateForTheFileIsRefused() async throws {
    try await withEditOfARun { fixture, runner, app, person, number in
      try runner.finish(1, in: fixture)
      guard case .refused(let refusal) = try await person.awaitReply(to: number) else {
        Issue.record("the former resource counts as the new one")
        return
      }
      #expect(refusal.reason == .invalidRequest)
      #expect(try await app.nextEvent().download != nil)
      #expect(try fixture.store.transfer(1)?.description.request.url == "http://h/")
    }
  }

  @Test(arguments: [true, false]) func anEditOfATransferThatGoesMeanwhileIsRefused(withSession: Bool) async throws {
    try await withEditOfARun { fixture, runner, app, person, number in
      if withSession {
        try await app.ask(.invalidate(SessionReference(session: "s")))
      } else {
        app.tell(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
        _ = try await app.ask(.version)
      }
      runner.releaseStops()
      guard case .refused = try await person.awaitReply(to: number) else {
        Issue.record("not refused")
        return
      }
      await fixture.settle()
      #expect(runner.running == [])
    }
  }

  /// Fields with secrets are for the origin that they were made for.
  @Test func aNewOriginGetsNoSecretsOfTheFormerOne() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let fields = [HeaderField("authorization", "old"), HeaderField("Cookie", "a=b"), HeaderField("Accept", "a/b")]
      let id = try await app.create([.download("http://h/f", running: false, headers: fields)])[0]
      var edit = EditTransfer(transfer: id)
      edit.url = "http://other/f"
      #expect(try await app.ask(.editTransfer(edit)) == .done)
      edit.url = "https://other/f"
      edit.fields = [HeaderField("Authorization", "new")]
      #expect(try await app.ask(.editTransfer(edit)) == .done)
      try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      await fixture.settle()
      let job = try #require(runner.job(id))
      #expect(job.request.headers == [HeaderField("Accept", "a/b"), HeaderField("Authorization", "new")])
    }
  }

  @Test func editsThatMakeNoSenseAreRefused() async throws {
    try await withEngine { fixture in
      let app = fixture.client()
      try await app.begin()
      let id = try await app.create([.download("http://h/f", running: false)])[0]
      var edit = EditTransfer(transfer: id)
      for url in ["ftp://h/f", "x", "http:///f"] {
        edit.url = url
        #expect(try await app.refusal(.editTransfer(edit)) == .invalidRequest, "\(url)")
      }
      edit.url = nil
      edit.priority = 2
      #expect(try await app.refusal(.editTransfer(edit)) == .invalidRequest)
      #expect(try fixture.store.transfer(id)?.description.request.url == "http://h/f")
      let stranger = fixture.client("/stranger")
      try await stranger.greet()
      edit.priority = 0.1
      for request: ClientRequest in [
        .editTransfer(edit), .holdTransfer(reference(id)), .releaseTransfer(reference(id)),
        .retryTransfer(reference(id)),
      ] {
        #expect(try await stranger.refusal(request) == .unknownTask)
      }
    }
  }

  @Test(arguments: [
    ("http://h/a?x=1", "http://h/a?x=2", true), ("http://h/a", "HTTP://H:80/a", true),
    ("http://h/a", "http://h/b", false),
    ("http://h/a", "https://h/a", false), ("http://h/a", "http://i/a", false),
  ])
  func onlyTheQueryMayDiffer(_ one: String, _ other: String, _ isSame: Bool) {
    #expect(TransferEngine.isSameResource(one, other) == isSame)
  }
}
