import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// The service crashes while it runs transfers. A test leaves the marks that a service which crashed has left.
@Suite struct TransferEngineCrashesTests {
  private func downloads(_ count: Int) -> [TransferDescription] {
    (1...count).map { .download("http://h/\($0)", task: $0) }
  }

  private func running(_ life: EngineFixture) -> [TransferID] {
    RunMarks.transfers(in: "\(life.files.runningDirectory)/\(life.clock.bootID)")
  }

  private func crash(_ life: EngineFixture, running ids: [TransferID]) async throws -> EngineFixture {
    await life.shutDown()
    #expect(running(life) == [], "it ended in order")
    for id in ids { try life.folder.leaveFile("running/\(id).\(life.clock.bootID)") }
    return try await life.nextLife()
  }

  private func crashes(_ life: EngineFixture) throws -> [Int] { try life.store.unfinishedHeads().map(\.crashes) }

  @Test func aRunLeavesAMarkUntilItEnds() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create(downloads(1))[0]
      try await eventually("it to run") { runner.running == [id] }
      #expect(running(fixture) == [id])
      try runner.finish(id, in: fixture)
      _ = try await client.nextEvent()
      try await eventually("the mark to go") { running(fixture) == [] }
    }
  }

  @Test func aRunHasItsMarkAlsoInAFolderThatWasMadeAgain() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.storagePatience = 0.01 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create(downloads(2))
      try await eventually("both to run") { runner.running == ids }
      for folder in [fixture.files.partialDirectory, fixture.files.runningDirectory] {
        try FileManager.default.removeItem(atPath: folder)
      }
      runner.end(ids[1], .storageUnavailable("It is away.", kept: KeptBytes(0), received: 0))
      await fixture.settle()
      fixture.clock.advance(by: 60)
      try await eventually("the folders to be made again") {
        fixture.engine.queue.sync { fixture.engine.storage.isAvailable }
      }
      #expect(running(fixture).contains(ids[0]))
    }
  }

  @Test func thoseThatRanAreTriedOneByOne() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create(downloads(4))
      try await eventually("all to run") { runner.running == ids }
      let next = try await crash(fixture, running: Array(ids.prefix(2)))
      try await eventually("the first to run") { runner.running == [ids[0]] }
      #expect(try crashes(next) == [1, 1, 0, 0])
      let again = next.client()
      try await again.begin()
      guard case .transfer(let shown) = try await again.ask(.showTransfer(TransferReference(transfer: ids[3]))) else {
        Issue.record("refused")
        return
      }
      #expect(shown.status.waiting?.code == "trial")
      runner.report(.progressed(received: 1 << 20, expectedTotal: -1, kept: KeptBytes(1 << 20)), by: ids[0])
      try await eventually("the second to run") { runner.running == Array(ids.prefix(2)) }
      await next.advance(by: 10)
      try await eventually("all to run") { runner.running == ids }
      #expect(try crashes(next) == [0, 1, 0, 0], "one has made progress, the other not yet")
      runner.end(ids[1], .retry(.cancelled(nil), kept: KeptBytes(0), received: 0))
      try await eventually("the other to be acquitted") { try crashes(next) == [0, 0, 0, 0] }
    }
  }

  /// A crash in between would be counted to the one that is no cause of it.
  @Test(arguments: [false, true]) func noOtherStartsUntilItIsWrittenThatOneIsNoCause(ends: Bool) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create(downloads(2))
      try await eventually("both to run") { runner.running == ids }
      let next = try await crash(fixture, running: ids)
      try await eventually("the first to run") { runner.running == [ids[0]] }
      let other = next.client("/other")
      try await other.greet()
      try await next.holdingQueue {
        if ends {
          runner.end(ids[0], .retry(.cancelled(nil), kept: KeptBytes(0), received: 0))
        } else {
          runner.report(.progressed(received: 1 << 20, expectedTotal: -1, kept: KeptBytes(1 << 20)), by: ids[0])
        }
        // What the engine was told before is handled then.
        _ = try await other.ask(.version)
        _ = try await other.ask(.version)
        #expect(runner.running == (ends ? [] : [ids[0]]))
        #expect(try crashes(next) == [1, 1])
      }
      try await eventually("the second to run") { runner.running.contains(ids[1]) }
      #expect(try crashes(next) == [0, 1])
    }
  }

  /// After a crash in between the next service would know of no failure, and would try it at once.
  @Test(arguments: [false, true]) func aRunLeavesItsMarkUntilItsFailureIsWritten(runsAgain: Bool) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create(downloads(1))[0]
      try await eventually("it to run") { runner.running == [id] }
      try await fixture.holdingQueue {
        runner.end(id, .retry(.cancelled(nil), kept: KeptBytes(0), received: 0))
        _ = try await client.ask(.version)
        if runsAgain { #expect(try await client.ask(.retryTransfer(TransferReference(transfer: id))) == .done) }
        // What the engine was told before is handled then.
        _ = try await client.ask(.version)
        #expect(runner.running == (runsAgain ? [id] : []))
        #expect(running(fixture) == [id])
        #expect(try fixture.store.transfer(id)?.head.failures == 0)
      }
      await fixture.settle()
      #expect(try fixture.store.transfer(id)?.head.failures == 1)
      #expect(running(fixture) == (runsAgain ? [id] : []))
    }
  }

  /// Three crashes of the service, of which the transfers run at the first and the first one at the others.
  private func setAside(
    _ count: Int, in fixture: EngineFixture, _ runner: ScriptedRunner, options: SessionOptions = SessionOptions()
  ) async throws -> (life: EngineFixture, ids: [TransferID]) {
    let client = fixture.client()
    try await client.begin("s", options: options)
    let ids = try await client.create(downloads(count))
    try await eventually("all to run") { runner.running == ids }
    var life = try await crash(fixture, running: ids)
    for crashes in 2...3 {
      try await eventually("the first to run") { runner.running == [ids[0]] }
      life = try await crash(life, running: [ids[0]])
      #expect(try life.store.transfer(ids[0])?.head.crashes == crashes)
    }
    return (life, ids)
  }

  @Test func theOneThatRanAtThreeCrashesIsSetAside() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let (life, ids) = try await setAside(3, in: fixture, runner)
      try await eventually("the second to run") { runner.running == [ids[1]] }
      let again = life.client()
      try await again.begin()
      let person = life.client()
      try await person.greet()
      let shown = try await person.status(ids[0])
      #expect(shown.state == .waiting && shown.waiting?.code == "setAside")
      #expect(shown.waiting?.sentence.contains("3 crashes") == true)
      // The others go on.
      for id in ids.dropFirst() {
        try await eventually("transfer \(id) to run") { runner.running.contains(id) }
        try runner.finish(id, in: life)
        #expect(try await again.nextEvent().download != nil)
        #expect(try await again.nextEvent().completion != nil)
      }
      await life.settle()
      let (runs, events) = (runner.running, again.events)
      #expect(runs == [] && events.count == 4, "\(events)")
      #expect(try life.store.unfinishedHeads().map(\.id) == [ids[0]])
      // So it is in the next life, too.
      let next = try await crash(life, running: [])
      await next.settle()
      #expect(runner.running == [])
    }
  }

  @Test(arguments: ["release", "retry", "app", "paused"])
  func oneThatWasSetAsideGoesOnWhenItIsResumed(by way: String) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let (life, ids) = try await setAside(1, in: fixture, runner)
      let app = life.client()
      try await app.begin()
      let person = life.client()
      try await person.greet()
      let (reference, task) = (
        TransferReference(transfer: ids[0]), TaskSelection(session: "s", taskIdentifiers: [1])
      )
      // It may be a request that is sent once more.
      try await app.ask(.resumeTasks(task))
      await life.settle()
      #expect(runner.running == [])
      #expect(try crashes(life) == [3])
      switch way {
      case "release": #expect(try await person.ask(.releaseTransfer(reference)) == .done)
      case "retry": #expect(try await person.ask(.retryTransfer(reference)) == .done)
      case "app":
        try await app.ask(.suspendTasks(task))
        let shown = try await person.status(ids[0])
        #expect(shown.state == .suspended && shown.waiting?.code == "setAside")
        #expect(try await person.refusal(.retryTransfer(reference)) == .invalidRequest)
        try await app.ask(.resumeTasks(task))
      default:
        #expect(try await person.ask(.holdTransfer(reference)) == .done)
        #expect(try await person.status(ids[0]).waiting?.code == "pausedByUser")
        #expect(try await person.ask(.releaseTransfer(reference)) == .done)
      }
      try await eventually("it to run") { runner.running == ids }
      #expect(try crashes(life) == [0])
      // It may run at two crashes again.
      let next = try await crash(life, running: ids)
      try await eventually("it to run again") { runner.running == ids }
      #expect(try crashes(next) == [1])
    }
  }

  @Test func oneThatIsSetAsideCanBeCancelled() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let (life, _) = try await setAside(1, in: fixture, runner)
      let app = life.client()
      try await app.begin()
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      #expect(try await app.nextEvent().completion?.failure?.code == URLError.Code.cancelled.rawValue)
    }
  }

  @Test func theTimeOfOneThatIsSetAsideGoesOn() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      var options = SessionOptions()
      options.timeoutIntervalForResource = 1_000
      let (life, _) = try await setAside(1, in: fixture, runner, options: options)
      let app = life.client()
      try await app.begin("s", options: options)
      await life.advance(by: 900)
      #expect(app.events.isEmpty)
      await life.advance(by: 101)
      #expect(try await app.nextEvent().completion?.failure?.code == URLError.Code.timedOut.rawValue)
    }
  }

  /// Its supervisor has seen that another process ended it.
  @Test func aKilledServiceCountsAgainstNone() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.countsCrashes = false }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create(downloads(2))
      try await eventually("both to run") { runner.running == ids }
      let next = try await crash(fixture, running: ids)
      try await eventually("both to run at once") { runner.running == ids }
      #expect(try crashes(next) == [0, 0])
    }
  }

  /// The power failed, or the machine crashed.
  @Test func anotherStartOfTheMachineIsNoCrash() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create(downloads(1))[0]
      await fixture.shutDown()
      try fixture.folder.leaveFile("running/\(id).boot-0")
      let next = try await fixture.nextLife()
      try await eventually("it to run") { runner.running == [id] }
      #expect(try crashes(next) == [0])
    }
  }
}
