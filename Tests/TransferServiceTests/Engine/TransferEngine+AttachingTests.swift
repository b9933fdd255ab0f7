import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Which connection may do what.
@Suite struct TransferEngineAttachingTests {
  static let held: [ClientRequest] = [
    .sessionTasks(SessionTasks(session: "s", after: 0)), .startDelivery(SessionReference(session: "s")),
    .createTasks(CreateTasks(session: "s", tasks: [.download("http://h/")])),
    .resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])),
    .suspendTasks(TaskSelection(session: "s", taskIdentifiers: [1])),
    .cancelTask(CancelTask(session: "s", taskIdentifier: 1)), .updateTask(UpdateTask(session: "s", taskIdentifier: 1)),
    .acknowledge(Acknowledge(session: "s", sequences: [1])), .keepEvents(Acknowledge(session: "s", sequences: [1])),
    .doneHandlingEvents(SessionReference(session: "s")),
    .invalidate(SessionReference(session: "s")),
  ]

  @Test func refusesRequestsBeforeHello() async throws {
    try await withEngine { fixture in
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
    }
  }

  /// A script of proxies fits in.
  @Test func refusesLongIdentifiersAndOptions() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.greet()
      let longest = String(repeating: "s", count: 1_024)
      #expect(try await client.attach(longest) != nil)
      #expect(try await client.refusal(.attach(Attach(session: longest + "s"))) == .tooLarge)
      var options = SessionOptions()
      options.connectionProxyDictionary = String(repeating: "x", count: 500_000)
      #expect(try await client.attach("s", options: options) != nil)
      options.connectionProxyDictionary = String(repeating: "x", count: 530_000)
      #expect(try await client.refusal(.attach(Attach(session: "s", options: options))) == .tooLarge)
    }
  }

  @Test func aConnectionHoldsALimitedNumberOfSessions() async throws {
    try await withEngine({ settings in
      settings.sessionsPerConnection = 2
      settings.sessionsPerApp = SessionLimits(usual: 3, most: 3)
    }) { fixture in
      let client = fixture.client()
      try await client.greet()
      for name in ["a", "b", "a"] { #expect(try await client.attach(name) != nil) }
      #expect(try await client.refusal(.attach(Attach(session: "c"))) == .tooLarge)
      let other = fixture.client()
      try await other.greet()
      #expect(try await other.attach("c") != nil)
      // None of the app's sessions is idle.
      #expect(try await other.refusal(.attach(Attach(session: "d"))) == .invalidRequest)
      client.disconnect()
      #expect(try await other.attach("d") != nil)
    }
  }

  /// A command that downloads many files has a session for each.
  @Test func anAppMayHaveMoreSessionsWithWorkThanAreKeptWithout() async throws {
    try await withEngine({ $0.sessionsPerApp = SessionLimits(usual: 1, most: 3, longestOfMost: 1_000) }) { fixture in
      let client = fixture.client()
      try await client.greet()
      for name in ["a", "b", "c"] { #expect(try await client.attach(name) != nil) }
      #expect(try await client.refusal(.attach(Attach(session: "d"))) == .invalidRequest)
      client.disconnect()
      let other = fixture.client()
      try await other.greet()
      #expect(try await other.attach("d") != nil)
      // Those without work made room, but long options are kept for few.
      var options = SessionOptions()
      options.connectionProxyDictionary = String(repeating: "x", count: 2_000)
      #expect(try await other.refusal(.attach(Attach(session: "e", options: options))) == .invalidRequest)
    }
  }

  /// An app whose user starts it meanwhile waits for longer.
  @Test(arguments: [true, false]) func aRefusalSaysWhetherTheHolderWasStartedForEvents(isOfLaunch: Bool) async throws {
    try await withEngine { fixture in
      let first = fixture.client(process: EngineFixture.ourselves)
      try await first.greet()
      try await first.ask(.attach(Attach(session: "s", isOfLaunch: isOfLaunch)))
      let second = fixture.client(process: EngineFixture.ourselves)
      try await second.greet()
      guard case .refused(let refusal) = try await second.ask(.attach(Attach(session: "s"))) else {
        return #expect(Bool(false), "it was attached")
      }
      #expect(refusal.reason == .inUse && refusal.holderIsOfLaunch == (isOfLaunch ? true : nil))
    }
  }

  @Test func refusesASecondHolder() async throws {
    try await withEngine { fixture in
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

      first.disconnect()
      #expect(try await second.attach() != nil)
      let third = fixture.client(process: EngineFixture.ourselves)
      try await third.greet()
      #expect(try await third.refusal(.attach(Attach(session: "s"))) == .inUse)
    }
  }

  @Test func aSessionOfAnEndedProcessCanBeAttached() async throws {
    try await withEngine { fixture in
      let killed = fixture.client(process: EngineFixture.dead)
      try await killed.begin()
      // Its connection has not been noticed to be gone.
      let successor = fixture.client(process: EngineFixture.ourselves)
      try await successor.greet()
      #expect(try await successor.attach() != nil)
      #expect(try await killed.refusal(.startDelivery(SessionReference(session: "s"))) == .notAttached)
    }
  }

  @Test func theEndOfAConnectionReleasesItsSessions() async throws {
    try await withEngine { fixture in
      let first = fixture.client(process: EngineFixture.ourselves)
      try await first.begin("a")
      try await first.attach("b").map { _ in }
      first.disconnect()
      let second = fixture.client()
      try await second.greet()
      #expect(try await second.attach("a") != nil)
      #expect(try await second.attach("b") != nil)
    }
  }

  /// Each has asked for the session of the other one.
  @Test func twoEndedConnectionsDoNotWaitForEachOther() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let (one, two, other) = (fixture.client(), fixture.client(), fixture.client("/other"))
      try await one.begin("u")
      #expect(try await one.create([.download("http://h/u")], session: "u").count == 1)
      try await two.begin("v")
      try await other.begin("o")
      try await fixture.holdingQueue {
        one.tell(.suspendTasks(TaskSelection(session: "u", taskIdentifiers: [1])))
        one.tell(.attach(Attach(session: "v")))
        two.tell(.attach(Attach(session: "u")))
        one.disconnect()
        two.disconnect()
        _ = try await other.ask(.listTransfers(ListTransfers()))
      }
      let next = fixture.client()
      try await next.greet()
      #expect(try await next.attach("u") != nil)
      #expect(try await next.attach("v") != nil)
    }
  }

  @Test(arguments: held.indices)
  func refusesRequestsOfConnectionsThatDoNotHoldTheSession(index: Int) async throws {
    try await withEngine { fixture in
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
    }
  }
}
