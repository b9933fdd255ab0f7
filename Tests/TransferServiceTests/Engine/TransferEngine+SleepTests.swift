import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A machine that is about to sleep, and one that has woken.
@Suite struct TransferEngineSleepTests {
  private static let mebi: Int64 = 1 << 20

  @Test func theSleepOfTheMachineIsFollowedWhileTransfersAreToMove() async throws {
    let sleep = FakeSleep()
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) {
      $0.sleep = sleep
      $0.restPatience = 0.01
    } _: { fixture in
      let client = fixture.client()
      try await client.begin()
      await fixture.settle()
      #expect(!sleep.isStarted)
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      #expect(sleep.isStarted)
      try runner.finish(id, in: fixture)
      _ = try await client.nextEvent()
      try await eventually("the service to rest") { !sleep.isStarted }
      _ = try await client.create([.download("http://h/2", task: 2)])
      await fixture.settle()
      #expect(sleep.isStarted)
      await fixture.shutDown()
      #expect(!sleep.isStarted)
    }
  }

  @Test func theMachineWaitsForEveryRun() async throws {
    let sleep = FakeSleep()
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) {
      $0.sleep = sleep
    } _: { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create([.download("http://h/1"), .download("http://h/2", task: 2)])
      await fixture.settle()
      #expect(runner.running == ids)
      runner.holdCheckpoints()
      let ready = sleep.fall()
      for id in ids {
        try await eventually("both to be asked") { runner.checkpointing.contains(id) }
        await fixture.settle()
        #expect(!ready.isOpen)
        runner.endCheckpoint(of: id)
      }
      try await ready.wait(within: patience)
      #expect(runner.running == ids, "they go on")
    }
  }

  /// Nothing comes after these bytes, so that nothing else would count them soon.
  @Test func whatHasArrivedIsCommittedBeforeTheMachineSleeps() async throws {
    let sleep = FakeSleep()
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    try await withEngine(serving: resource, { $0.sleep = sleep }) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download(server.url("/f").absoluteString)])[0]
      _ = try await client.next {
        if case .progress(let report) = $0, report.totalBytesWritten == Self.mebi { true } else { nil }
      }
      let ready = sleep.fall()
      try await ready.wait(within: patience)
      #expect(try fixture.store.transfer(id)?.head.committedOffset == Self.mebi)
      await fixture.shutDown()
    }
  }

  @Test func waitsAreLookedAtWhenTheMachineHasWoken() async throws {
    let sleep = FakeSleep()
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    try await withEngine(
      serving: resource,
      {
        $0.sleep = sleep
        $0.networkSettling = 0
      }
    ) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      _ = try await client.nextRetry()
      // No time passes on the service's clock.
      sleep.wake()
      #expect(try await client.nextEvent().download != nil)
    }
  }
}
