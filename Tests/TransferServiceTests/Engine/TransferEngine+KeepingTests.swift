import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Files that are removed later, quotas, and things of apps that do not come back.
@Suite struct TransferEngineKeepingTests {
  @Test func aFileThatCanNotBeRemovedIsTriedAgain() async throws {
    try await withEngine({ $0.removalPatience = 0.01 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download("http://h/", running: false)])[0]
      try fixture.folder.leaveFile("partial/\(id)")
      fixture.disk.set([.init(.remove, code: EBUSY, path: "complete/\(id)")])
      try await client.ask(.cancelTransfer(TransferReference(transfer: id)))
      let event = try await client.nextEvent()
      try await client.acknowledge([event])
      // It is no leftover while it is being tried, which is on another thread.
      try await eventually("a leftover") {
        fixture.engine.queue.sync { fixture.engine.leftovers } == [.undelivered(id)]
      }
      fixture.disk.set([])
      try await eventually("nothing to be left") { fixture.engine.queue.sync { fixture.engine.leftovers.isEmpty } }
    }
  }

  /// A file system takes seconds to remove a large file, and a disk that hangs takes longer.
  @Test func aDiskThatHangsInARemovalKeepsNoAppWaiting() async throws {
    try await withEngine { fixture in
      let (app, other) = (fixture.client(), fixture.client("/other"))
      for client in [app, other] { try await client.begin() }
      let id = try await app.create([.download("http://h/", running: false)])[0]
      try fixture.folder.leaveFile("partial/\(id)")
      try await fixture.disk.holding(.remove, path: "partial/\(id)") { isReached in
        try await app.ask(.cancelTransfer(TransferReference(transfer: id)))
        try await eventually("the disk to hang") { isReached() }
        // Another app, and this one.
        let second = try await other.create([.download("http://h/", running: false)])[0]
        try await other.ask(.cancelTransfer(TransferReference(transfer: second)))
        for client in [app, other] {
          let event = try await client.nextEvent()
          #expect(event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
          try await client.acknowledge([event])
        }
      }
      #expect(fixture.names("partial") == [])
    }
  }

  /// The next service would find the files otherwise.
  @Test func aServiceEndsWhenItsFilesAreRemoved() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download("http://h/", running: false)])[0]
      try fixture.folder.leaveFile("partial/\(id)")
      let ended = Gate()
      try await fixture.disk.holding(.remove, path: "partial/\(id)") { isReached in
        try await client.ask(.cancelTransfer(TransferReference(transfer: id)))
        try await eventually("the disk to hang") { isReached() }
        Task {
          await fixture.engine.shutDown()
          ended.open()
        }
        // Its turn has come and gone.
        try await eventually("the end to begin") { fixture.engine.queue.sync { !fixture.engine.isServing } }
        await withCheckedContinuation { done in fixture.engine.ping { done.resume() } }
        #expect(!ended.isOpen)
      }
      try await ended.wait(within: patience)
      #expect(fixture.names("partial") == [])
    }
  }

  @Test func aRemovalThatHangsKeepsNoServiceFromEnding() async throws {
    try await withEngine({ $0.lastRemovalsPatience = 0.05 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download("http://h/", running: false)])[0]
      try fixture.folder.leaveFile("partial/\(id)")
      try await fixture.disk.holding(.remove, path: "partial/\(id)") { isReached in
        try await client.ask(.cancelTransfer(TransferReference(transfer: id)))
        try await eventually("the disk to hang") { isReached() }
        await fixture.engine.shutDown()
      }
    }
  }

  // MARK: Quotas

  @Test func anAppMayDescribeSoManyBytes() async throws {
    try await withEngine({ $0.quotas.queueBytes = 2_000 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let long = TransferDescription.download("http://h/" + String(repeating: "x", count: 1_000), running: false)
      _ = try await client.create([long])
      var second = long
      (second.token, second.taskIdentifier) = ("token-2", 2)
      let reply = try await client.ask(.createTasks(CreateTasks(session: "s", tasks: [second])))
      guard case .refused(let refusal) = reply else {
        Issue.record("it was taken")
        return
      }
      #expect(refusal.reason == .tooLarge && refusal.message.contains("quota is 2000"))
      // Another app has its own.
      let other = fixture.client("/other")
      try await other.begin()
      #expect(try await other.create([long]).count == 1)
      // There is room again when the first one is over.
      try await client.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      try await client.acknowledge([try await client.nextEvent()])
      #expect(try await client.create([second]).count == 1)
    }
  }

  @Test func aTransferWaitsWhileItsAppHasTooManyBytes() async throws {
    let resource = FileResource(size: 3_000)
    try await withEngine(serving: resource, { $0.quotas.diskBytes = 4_000 }) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      let url = server.url("/f").absoluteString
      _ = try await client.create([.download(url)])
      let events = [try await client.nextEvent(), try await client.nextEvent()]
      await fixture.advance(by: 6)
      // The response of the second GET says the length, and the rest does not come.
      resource.update { $0.cuts = [.after(3_000), .after(1_000, .stall)] }
      let id = try await client.create([.download(url, task: 2)])[0]
      let waiting = try await nextQuota(of: id, client)
      // It may have received some bytes before it was stopped.
      #expect(waiting.sentence.contains("bytes of downloads") && waiting.sentence.contains("its quota is 4000"))
      try await client.acknowledge(events)
      await fixture.advance(by: 31)
      #expect(try await client.nextEvent().download?.byteCount == 3_000)
    }
  }

  private func nextQuota(of id: TransferID, _ client: FakeClient) async throws -> WaitingStatus {
    try await client.next { push -> WaitingStatus? in
      guard case .transferChanged(let status) = push, status.transfer == id else { return nil }
      return status.waiting?.code == "quota" ? status.waiting : nil
    }
  }

  /// Two files of 3,000 bytes, each smaller than the quota of 4,000.
  @Test func transfersThatRunTogetherShareTheQuota() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.quotas.diskBytes = 4_000 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      let ids = try await client.create([.download("http://h/1"), .download("http://h/2", task: 2)])
      await fixture.settle()
      #expect(runner.running == ids)
      let response = ResponseSummary(url: "http://h/", status: 200, expectedContentLength: 3_000)
      for id in ids { runner.report(.responded(response), by: id) }
      let waiting = try await nextQuota(of: ids[1], client)
      #expect(waiting.sentence.contains("expect 3000 more") && waiting.sentence.contains("its quota is 4000"))
      #expect(runner.running == [ids[0]])
      // What the first one has received is promised no more, and nothing is counted twice.
      runner.report(.progressed(received: 2_000, expectedTotal: 3_000, kept: KeptBytes(2_000, of: 2_000)), by: ids[0])
      await fixture.advance(by: 31)
      #expect(runner.running == [ids[0]])
      // Its place is free when it fails.
      let failure = TransferFailure.cancelled("http://h/1")
      runner.end(ids[0], .failed(failure, nil, received: 2_000))
      await fixture.advance(by: 31)
      #expect(runner.running == [ids[1]])
    }
  }

  @Test func aBodyOfUnknownLengthStopsAtTheQuota() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.quotas.diskBytes = 4_000 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      let id = try await client.create([.download("http://h/")])[0]
      await fixture.settle()
      runner.holdStops()
      runner.report(.responded(ResponseSummary(url: "http://h/", status: 200)), by: id)
      func receive(_ count: Int64) async {
        runner.report(.progressed(received: count, expectedTotal: -1, kept: KeptBytes(count, of: count)), by: id)
        await fixture.settle()
      }
      await receive(4_000)
      #expect(runner.stopping == [])
      await receive(4_001)
      #expect(runner.stopping == [id])
      runner.end(id, .stopped(received: 4_001))
      let waiting = try await nextQuota(of: id, client)
      #expect(waiting.sentence.contains("The app has 4001 bytes") && waiting.sentence.contains("its quota is 4000"))
      #expect(runner.running == [])
    }
  }

  // MARK: Absence

  @Sendable private static func shortAges(_ settings: inout TransferEngine.Settings) {
    (settings.ages.absentApp, settings.ages.removedApp, settings.ages.toldAbsence) = (2, 2, 1)
    settings.absenceGrace = 0
  }

  /// The files below the folder of what was set aside, without the names of the folders there.
  private func setAside(_ folder: TemporaryFolder) -> [String] {
    let root = "\(folder.path)/\(TransferFiles.setAsideName)"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return names.flatMap { dated in
      ["complete", "partial"].flatMap { kind in
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(dated)/\(kind)")) ?? []).map {
          "\(kind)/\($0)"
        }
      }
    }.sorted()
  }

  /// A task that was not over and one with a finished file.
  private func leaveTasks(in folder: TemporaryFolder) throws {
    try folder.leaveTransfer(.download("http://h/1")) { store, id in
      try store.finish(id, hasFile: true, completion: StoreFixture.completion(), date: Date())
      try folder.leaveFile("complete/\(id)")
    }
    try folder.leaveTransfer(.download("http://h/2", task: 2, running: false)) { store, id in
      try folder.leaveFile("partial/\(id)")
    }
  }

  @Test func theTasksOfAnAppThatDoesNotComeBackGo() async throws {
    let folder = try TemporaryFolder()
    try leaveTasks(in: folder)
    try await withEngine(in: folder, Self.shortAges) { first in
      var life = first
      for day in 0..<5 {
        await life.settle()
        let isGivenUp = day >= 2
        #expect(life.names("complete") == (isGivenUp ? [] : ["1"]), "day \(day)")
        #expect(life.names("partial") == (isGivenUp ? [] : ["2"]), "day \(day)")
        #expect(setAside(folder) == (isGivenUp ? ["complete/1", "partial/2"] : []), "day \(day)")
        await life.settle()
        let first = try life.store.transfer(1)
        #expect((first == nil) == (day == 4), "as long again it is told")
        if isGivenUp, let first {
          #expect(first.failure?.code == URLError.Code.backgroundSessionWasDisconnected.rawValue)
        }
        life.clock.advance(by: 90_000)
        life = try await life.nextLife()
      }
      #expect(try life.store.liveSessions() == [])
      #expect(try life.store.transfer(2) == nil)
    }
  }

  @Test func anAppThatComesBackTooLateHearsOfItsTasks() async throws {
    let folder = try TemporaryFolder()
    try leaveTasks(in: folder)
    try await withEngine(in: folder, Self.shortAges) { first in
      var life = first
      for _ in 0..<2 {
        await life.settle()
        life.clock.advance(by: 90_000)
        life = try await life.nextLife()
      }
      await life.settle()
      _ = life.names("complete")
      await life.settle()
      let client = life.client()
      try await client.begin()
      var events: [SequencedEvent] = []
      for _ in 0..<2 { events.append(try await client.nextEvent()) }
      let failures = events.compactMap { $0.completion?.failure }
      #expect(failures.map(\.code) == [-997, -997])
      #expect(failures.allSatisfy { $0.message.contains("did not connect on 2 days") })
      for (failure, name) in zip(failures.sorted { $0.url ?? "" < $1.url ?? "" }, ["complete/1", "partial/2"]) {
        #expect(failure.message.contains("is kept in \(folder.path)/set-aside/") && failure.message.contains(name))
      }
      try await client.acknowledge(events)
      #expect(setAside(folder) == ["complete/1", "partial/2"])
    }
  }

  @Test func listsSayWhenTasksOfAnAbsentAppAreRemoved() async throws {
    let folder = try TemporaryFolder()
    try leaveTasks(in: folder)
    try await withEngine(in: folder, Self.shortAges) { first in
      await first.settle()
      let absence = { (life: EngineFixture) in
        try life.engine.queue.sync { try life.store.transfer(2).flatMap { life.engine.status($0).absence } }
      }
      #expect(try absence(first) == nil)
      first.clock.advance(by: 90_000)
      let life = try await first.nextLife()
      await life.settle()
      let removal = life.clock.date + 86_400
      #expect(try absence(life) == AppAbsence(days: 1, removal: removal))
      try await life.client().begin()
      #expect(try absence(life) == nil)
    }
  }

  /// One that runs is stopped, and ends at the next look.
  @Test func aRunningTaskOfAnAbsentAppEnds() async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/")) { _, _ in }
    let runner = ScriptedRunner()
    let change: @Sendable (inout TransferEngine.Settings) -> Void = {
      Self.shortAges(&$0)
      $0.removalPatience = 0.01
    }
    try await withEngine(in: folder, runner: runner, change) { first in
      var life = first
      for _ in 0..<2 {
        await life.settle()
        #expect(runner.running == [1])
        life.clock.advance(by: 90_000)
        life = try await life.nextLife()
      }
      let store = life.store
      try await eventually("its end") { try store.transfer(1)?.failure != nil }
      #expect(try store.transfer(1)?.failure?.code == URLError.Code.backgroundSessionWasDisconnected.rawValue)
      #expect(runner.running == [])
    }
  }

  @Test func anAppThatConnectsIsNotAbsent() throws {
    let fixture = try StoreFixture()
    let session = try fixture.session()
    _ = try fixture.create(1, session: session.id)
    var date = Date(timeIntervalSince1970: 1_750_000_000)
    // A day counts once, and a clock that jumps for one day.
    for step in [0, 10, 86_400, 86_400, 10, 5_000_000_000.0, 10] {
      date += step
      try fixture.store.countAbsence(at: date)
    }
    #expect(try fixture.store.absentApps(for: 1).map(\.unseenDays) == [3])
    _ = try fixture.session()
    #expect(try fixture.store.absentApps(for: 1) == [])
  }

  @Test func anAppThatStaysConnectedIsNotAbsent() throws {
    let fixture = try StoreFixture()
    let session = try fixture.session()
    _ = try fixture.create(1, session: session.id)
    var date = Date(timeIntervalSince1970: 1_750_000_000)
    for present in [false, false, false, true, true, true, false] {
      try fixture.store.countAbsence(at: date, present: present ? [session.app] : [])
      date += 86_400
    }
    #expect(try fixture.store.absentApps(for: 1).map(\.unseenDays) == [1])
  }

  @Test func theEngineKnowsWhichAppsAreConnected() async throws {
    try await withEngine({ ($0.ages.absentApp, $0.ages.removedApp) = (2, 2) }) { fixture in
      let (stays, leaves) = (fixture.client(), fixture.client("/other"))
      for client in [stays, leaves] {
        try await client.begin()
        _ = try await client.create([.download("http://h/", running: false)])
      }
      await fixture.settle()
      leaves.disconnect()
      for _ in 0..<4 {
        fixture.clock.advance(by: 90_000)
        fixture.engine.enter { $0.keepUp() }
        await fixture.settle()
      }
      #expect(try fixture.store.unfinishedHeads().map(\.id) == [1])
    }
  }

  /// Leaves a suspended download of an app that has not connected on 99 days.
  private func leaveAbsentApp(_ folder: TemporaryFolder) throws {
    try folder.leaveTransfer(.download("http://h/", running: false)) { store, id in
      try folder.leaveFile("partial/\(id)")
      for day in 0..<100 { try store.countAbsence(at: Date(timeIntervalSince1970: 86_400 * Double(day))) }
    }
  }

  /// The app itself may have started the service: it connects after the first upkeep.
  @Test(arguments: [true, false]) func anAbsentAppHasTimeToConnect(comesBack: Bool) async throws {
    let folder = try TemporaryFolder()
    try leaveAbsentApp(folder)
    try await withEngine(in: folder) { fixture in
      await fixture.settle()
      #expect(fixture.names("partial") == ["1"])
      if comesBack {
        let client = fixture.client()
        try await client.begin()
        client.disconnect()
      }
      fixture.clock.advance(by: 3_600)
      fixture.engine.enter { $0.keepUp() }
      await fixture.settle()
      #expect(try fixture.store.has(1) == comesBack)
    }
  }

  @Test func aServiceWithNothingToDoRemovesThingsOfAbsentAppsBeforeItEnds() async throws {
    let folder = try TemporaryFolder()
    try leaveAbsentApp(folder)
    try await withEngine(in: folder, { $0.idleExit = 0.01 }) { fixture in
      try await fixture.idle.wait(within: patience)
      await fixture.settle()
      #expect(try !fixture.store.has(1))
      #expect(fixture.names("partial") == [])
    }
  }

  // MARK: Lost queues

  private func loseQueue(_ fixture: EngineFixture) throws {
    for suffix in ["", "-wal", "-shm"] {
      try fixture.files.disk.remove("\(fixture.folder.path)/\(TransferStore.fileName)\(suffix)")
    }
    for name in QueueCopy.names { try fixture.files.disk.remove("\(fixture.folder.path)/\(name)") }
  }

  @Test(arguments: [nil, HeaderField("Authorization", "Bearer secret")])
  func aDownloadGoesOnWithoutItsQueue(field: HeaderField?) async throws {
    let size: Int64 = 2 << 20
    let resource = FileResource(size: size)
    resource.update { $0.cuts = [.after(size / 2, .stall)] }
    let folder = try TemporaryFolder()
    let secrets = FileSecretStore(path: try folder.subfolder("secrets") + "/file")
    try await withServer({ resource.reply(to: $0) }) { server in
      try await withEngine(secrets: secrets) { fixture in
        let client = fixture.client()
        try await client.begin()
        _ = try await client.create([.download(server.url("/f").absoluteString, headers: field.map { [$0] } ?? [])])
        _ = try await client.next { if case .progress = $0 { true } else { nil } }
        if field != nil { try await eventually("the key") { fixture.engine.key.isSettled } }
        await fixture.shutDown()
        try #require(fixture.names(JournalFolder.name) == ["1"])
        let journal = try #require(try fixture.files.journals.read(1))
        #expect(!journal.lacksFields && (journal.sealedRequest != nil) == (field != nil))
        try loseQueue(fixture)

        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        let event = try await again.nextEvent()
        let download = try #require(event.download)
        #expect(resource.version.pattern.difference(toFile: download.path, count: size) == nil)
        #expect(resource.served.map(\.status) == [200, 206])
        #expect(server.requests.map { $0.value("Authorization") } == [field?.value, field?.value])
        try await again.acknowledge([event, try await again.nextEvent()])
        await next.settle()
        #expect(next.names(JournalFolder.name) == [])
      }
    }
  }

  @Test func aFinishedFileIsDeliveredWithoutItsQueue() async throws {
    let size = JournalledPart.largestUncounted + 1
    let resource = FileResource(size: size)
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      _ = try await client.nextEvent()
      await fixture.shutDown()
      try loseQueue(fixture)
      let next = try await fixture.nextLife()
      let again = next.client()
      let attached = try await again.begin()
      #expect(attached?.pendingEventCount == 2)
      let event = try await again.nextEvent()
      let download = try #require(event.download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: size) == nil)
      #expect(download.response?.status == 200 && resource.served.count == 1)
      try await again.acknowledge([event, try await again.nextEvent()])
    }
  }

  /// It has no journal, and its task is known from the records of new tasks.
  @Test func aSmallFileIsLoadedAgainWithoutItsQueue() async throws {
    let resource = FileResource(size: 3_000)
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      _ = try await client.nextEvent()
      await fixture.shutDown()
      #expect(fixture.names(JournalFolder.name) == [])
      try loseQueue(fixture)
      let next = try await fixture.nextLife()
      let again = next.client()
      try await again.begin()
      let event = try await again.nextEvent()
      let download = try #require(event.download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 3_000) == nil)
      #expect(resource.served.map(\.status) == [200, 200])
      try await again.acknowledge([event, try await again.nextEvent()])
    }
  }
}
