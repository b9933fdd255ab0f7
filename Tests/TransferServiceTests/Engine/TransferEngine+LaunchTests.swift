import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// When the app of a session is started.
@Suite struct TransferEngineLaunchTests {
  private static let size: Int64 = 100_000

  /// The app begins, and asks for the server's file.
  private func begin(
    _ client: FakeClient, _ server: LoopbackServer, options: SessionOptions = SessionOptions()
  ) async throws {
    try await client.begin(options: options)
    _ = try await client.create([.download(server.url("/f").absoluteString)])
  }

  /// The app begins, asks for the server's file, and is gone. It is started when the file is there.
  private func launch(
    _ client: FakeClient, _ server: LoopbackServer, _ fixture: EngineFixture, options: SessionOptions = SessionOptions()
  ) async throws -> FakeLauncher.Launch {
    try await begin(client, server, options: options)
    client.disconnect()
    return try await fixture.launcher.launches.next()
  }

  @Test func startsTheAppWhenEverythingIsOverAndNoProcessHoldsTheSession() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let client = fixture.client("/the/app")
      let launch = try await launch(client, server, fixture)
      #expect(launch.executable == client.peer.executable && launch.session == "s")

      // It takes the events and says that it is done: it is not started again.
      let relaunched = fixture.client("/the/app")
      try await relaunched.begin()
      let events = [try await relaunched.nextEvent(), try await relaunched.nextEvent()]
      try await relaunched.acknowledge(events)
      try await relaunched.eventsFinished()
      try await relaunched.ask(.doneHandlingEvents(SessionReference(session: "s")))
      relaunched.disconnect()
      launch.ended()
      await fixture.settle()
      fixture.clock.advance(by: 100_000)
      fixture.engine.poke()
      await fixture.settle()
      #expect(fixture.launcher.launches.count == 1)
    }
  }

  /// Each app is started with the variables that it was seen with last, not with those of another.
  @Test func startsAnAppWithTheEnvironmentThatItHasRecorded() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      for (program, language) in [("/one/app", "de"), ("/other/app", "fr")] {
        var options = SessionOptions()
        options.launchEnvironment = ["LANG": language]
        let launch = try await launch(fixture.client(program), server, fixture, options: options)
        #expect(launch.executable.path == program && launch.environment == ["LANG": language])
      }
    }
  }

  /// The service or the connection was gone when the app had acknowledged everything.
  @Test func anAppThatSaysThatItIsDoneOverAnotherConnectionIsNotStartedAgain() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let launch = try await launch(fixture.client(), server, fixture)
      let relaunched = fixture.client()
      try await relaunched.begin()
      try await relaunched.acknowledge([try await relaunched.nextEvent(), try await relaunched.nextEvent()])
      relaunched.disconnect()

      let other = fixture.client()
      try await other.greet()
      let done = ClientRequest.doneHandlingEvents(SessionReference(session: "s"))
      #expect(try await other.refusal(done) == nil)
      launch.ended()
      await fixture.settle()
      await fixture.advance(by: 100_000)
      #expect(fixture.launcher.launches.count == 1)
    }
  }

  /// An app that was started has taken all of its events.
  private func withStartedApp(_ body: (EngineFixture, FakeClient) async throws -> Void) async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let launch = try await launch(fixture.client(), server, fixture)
      defer { launch.ended() }
      let relaunched = fixture.client()
      try await relaunched.begin()
      try await relaunched.acknowledge([try await relaunched.nextEvent(), try await relaunched.nextEvent()])
      try await relaunched.eventsFinished()
      await fixture.settle()
      #expect(try fixture.store.session(1)?.launches == 1)
      try await body(fixture, relaunched)
    }
  }

  /// A service that ends right after the answer is followed by one that would start the app once more.
  @Test func thatTheAppIsDoneIsOnTheDiskBeforeTheAnswer() async throws {
    try await withStartedApp { fixture, app in
      let other = fixture.client("/other")
      try await other.begin("o")
      let number = try await fixture.holdingQueue {
        let number = app.tell(.doneHandlingEvents(SessionReference(session: "s")))
        _ = try await other.ask(.listTransfers(ListTransfers()))
        #expect(app.reply(to: number) == nil)
        return number
      }
      #expect(try await app.awaitReply(to: number) == .done)
      #expect(try fixture.store.session(1)?.launches == 0)
    }
  }

  @Test func thatTheAppIsDoneIsRefusedWhereItCanNotBeWritten() async throws {
    try await withStartedApp { fixture, app in
      try fixture.breakQueue("UPDATE OF launches ON sessions")
      let done = ClientRequest.doneHandlingEvents(SessionReference(session: "s"))
      #expect(try await app.refusal(done) == .storage)
      try fixture.mendQueue()
      #expect(try await app.refusal(done) == nil)
      #expect(try fixture.store.session(1)?.launches == 0)
    }
  }

  /// It was said before the last event was acknowledged, so that the note of it is made with the acknowledgement.
  @Test func thatTheAppIsDoneIsAnsweredOnceTheEarlierNoteOfItIsWritten() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let launch = try await launch(fixture.client(), server, fixture)
      defer { launch.ended() }
      let app = fixture.client()
      try await app.begin()
      let events = [try await app.nextEvent(), try await app.nextEvent()]
      let done = ClientRequest.doneHandlingEvents(SessionReference(session: "s"))
      #expect(try await app.refusal(done) == nil)
      try fixture.breakQueue("UPDATE OF launches ON sessions")
      try await app.acknowledge(events)
      #expect(try await app.refusal(done) == .storage, "the note is not on the disk")
      await fixture.settle()
      #expect(try await app.refusal(done) == .storage)
      try fixture.mendQueue()
      #expect(try await app.refusal(done) == nil)
      #expect(try fixture.store.session(1)?.launches == 0)
      await fixture.settle()
    }
  }

  /// The app says it over two connections, neither of which holds the session.
  @Test func bothWhoSayThatTheAppIsDoneAreAnswered() async throws {
    try await withStartedApp { fixture, app in
      app.disconnect()
      let (one, other, barrier) = (fixture.client(), fixture.client(), fixture.client("/other"))
      for client in [one, other] { try await client.greet() }
      try await barrier.begin("o")
      let done = ClientRequest.doneHandlingEvents(SessionReference(session: "s"))
      // Which app a connection is of is known by then.
      for client in [one, other] { _ = try await client.ask(.listTransfers(ListTransfers())) }
      let numbers = try await fixture.holdingQueue {
        let numbers = (one.tell(done), other.tell(done))
        _ = try await barrier.ask(.listTransfers(ListTransfers()))
        #expect(one.reply(to: numbers.0) == nil && other.reply(to: numbers.1) == nil)
        return numbers
      }
      #expect(try await one.awaitReply(to: numbers.0) == .done)
      #expect(try await other.awaitReply(to: numbers.1) == .done)
      #expect(try fixture.store.session(1)?.launches == 0)
    }
  }

  /// The pauses double: 10 s, 20 s, 40 s. Before a pause is over, nothing starts the app.
  @Test func pausesLongerBeforeEachFurtherStartOfAFailingApp() async throws {
    let schedule = LaunchSchedule(firstWait: 10, longestWait: 3_600, limit: 4)
    try await withEngine(serving: FileResource(size: Self.size), { $0.launches = schedule }) { fixture, server in
      let client = fixture.client()
      try await begin(client, server)
      client.disconnect()
      for (index, pause) in [10.0, 20, 40].enumerated() {
        try await fixture.launcher.launches.next().ended()
        await fixture.settle()
        await fixture.advance(by: pause - 0.5)
        #expect(fixture.launcher.launches.count == index + 1)
        await fixture.advance(by: 1)
      }
      let last = try await fixture.launcher.launches.next()
      // Not while it runs, however long that takes, and after the last start not at all.
      await fixture.advance(by: 1_000)
      last.ended()
      await fixture.settle()
      await fixture.advance(by: 100_000)
      #expect(fixture.launcher.launches.count == 4)
      // Transfers are not held back by any of this, and an app that its user starts gets its events.
      let user = fixture.client()
      try await user.begin()
      #expect(try await user.nextEvent().download != nil)
    }
  }

  @Test func doesNotStartAnAppWithoutLaunchEvents() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      var options = SessionOptions()
      options.sessionSendsLaunchEvents = false
      let client = fixture.client()
      try await begin(client, server, options: options)
      _ = try await client.nextEvent()
      client.disconnect()
      await fixture.settle()
      #expect(fixture.launcher.launches.count == 0)
    }
  }

  @Test func doesNotStartAnAppWhoseProcessLives() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      let client = fixture.client(process: EngineFixture.ourselves)
      try await begin(client, server)
      _ = try await client.nextEvent()
      client.disconnect()
      await fixture.settle()
      #expect(fixture.launcher.launches.count == 0)
    }
  }

  /// The app outlives the service and takes its time to come back.
  @Test(arguments: [false, true]) func doesNotStartAnAppThatOutlivedTheService(
    machineRestarts: Bool
  ) async throws {
    let clock = FakeClock()
    try await withEngine(serving: FileResource(size: Self.size), clock: clock) { first, server in
      let client = first.client(process: EngineFixture.ourselves)
      try await begin(client, server)
      _ = try await client.nextEvent()

      await first.shutDown()
      // After a restart of the machine another process has that number.
      if machineRestarts { clock.restartMachine(after: 60) }
      let second = try await first.nextLife()
      clock.advance(by: 60)
      second.engine.poke()
      await second.settle()
      await second.settle()
      #expect(second.launcher.launches.count == (machineRestarts ? 1 : 0))
      if !machineRestarts {
        let back = second.client(process: EngineFixture.ourselves)
        try await back.begin()
        #expect(try await back.nextEvent().download != nil)
      }
    }
  }

  @Test func doesNotStartAReplacedProgram() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      fixture.launcher.refuse(.replaced("/app"))
      let client = fixture.client()
      try await begin(client, server)
      _ = try await client.nextEvent()
      client.disconnect()
      await fixture.settle()
      fixture.launcher.refuse(nil)
      fixture.clock.advance(by: 100_000)
      fixture.engine.poke()
      await fixture.settle()
      #expect(fixture.launcher.launches.count == 0)
      // Once the app has shown itself, it is known again.
      let back = fixture.client()
      try await back.begin()
      back.disconnect()
      _ = try await fixture.launcher.launches.next()
    }
  }

  /// Its program lies on a file system that does not answer. Others are served and started, and it is tried again.
  @Test func aProgramThatCanNotBeLookedAtHoldsUpNoOtherApp() async throws {
    try await withEngine(serving: FileResource(size: Self.size), { $0.programPatience = .seconds(1) }) {
      fixture, server in
      fixture.launcher.hold("/hangs")
      defer { fixture.launcher.release() }
      let client = fixture.client("/hangs")
      try await begin(client, server)
      client.disconnect()
      #expect(try await fixture.launcher.waits.next() == "/hangs")
      let other = try await launch(fixture.client("/other"), server, fixture)
      #expect(other.executable.path == "/other")
      other.ended()
      // Its time passes, and that of the next start, which waits for the place of the first.
      await fixture.settle()
      await fixture.advance(by: 60)
      #expect(fixture.launcher.launches.all.allSatisfy { $0.executable.path == "/other" })
      fixture.launcher.release()
      try await eventually("the start of the app") {
        await fixture.advance(by: 4_000)
        return fixture.launcher.launches.all.contains { $0.executable.path == "/hangs" }
      }
      #expect(fixture.launcher.waits.count == 1)
    }
  }

  /// Two processes of it would be refused each other's session.
  @Test func anAppThatComesByItselfWhileItsStartIsUnderWayIsNotStarted() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      fixture.launcher.hold("/slow")
      defer { fixture.launcher.release() }
      let client = fixture.client("/slow")
      try await begin(client, server)
      client.disconnect()
      #expect(try await fixture.launcher.waits.next() == "/slow")
      let next = fixture.client("/slow")
      try await next.begin()
      fixture.launcher.release()
      await fixture.settle()
      #expect(fixture.launcher.launches.all.isEmpty)
      // It can be started again.
      next.disconnect()
      try await eventually("the start of the app") {
        await fixture.advance(by: 4_000)
        return fixture.launcher.launches.all.count == 1
      }
    }
  }

  /// It ends before the engine has heard of its start.
  @Test func anAppThatEndsAtOnceIsStartedAgainAfterItsPause() async throws {
    try await withEngine(serving: FileResource(size: Self.size)) { fixture, server in
      fixture.launcher.endsAtOnce()
      _ = try await launch(fixture.client(), server, fixture)
      await fixture.settle()
      await fixture.advance(by: 60)
      #expect(fixture.launcher.launches.count == 2)
    }
  }
}
