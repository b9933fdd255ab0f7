import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Faults of the service's own folders.
@Suite struct TransferEngineStorageTests {
  private static let size: Int64 = 100_000

  /// Begins three downloads and returns once they wait for the storage.
  private func beginThree(_ client: FakeClient, _ server: LoopbackServer) async throws -> [TransferID] {
    try await client.begin()
    try await client.watch()
    let url = server.url("/f").absoluteString
    let ids = try await client.create((1...3).map { .download(url, task: $0) })
    var waiting: Set<TransferID> = []
    while waiting.count < ids.count {
      let status = try await client.next { if case .transferChanged(let status) = $0 { status } else { nil } }
      guard let reason = status.waiting, reason.code == "storageUnavailable", reason.nextAttempt != nil else {
        continue
      }
      #expect(reason.sentence.contains("partial"))
      waiting.insert(status.transfer)
    }
    return ids
  }

  /// The storage works again: the retries of the transfers that found out are due within a second.
  private func expectThree(
    _ client: FakeClient, _ fixture: EngineFixture, _ ids: [TransferID], _ resource: FileResource
  ) async throws {
    try await eventually("the storage to be found well") {
      fixture.engine.queue.sync { fixture.engine.storage.isAvailable }
    }
    await fixture.advance(by: 1)
    var count = 0
    while count < ids.count {
      guard let download = try await client.nextEvent().download else { continue }
      #expect(resource.version.pattern.difference(toFile: download.path, count: Self.size) == nil)
      count += 1
    }
    #expect(resource.bytesSent == 3 * Self.size)
  }

  @Test(arguments: [EIO, EROFS, EACCES, ESTALE])
  func transfersWaitForABrokenDiskAndAskNoServer(code: Int32) async throws {
    let resource = FileResource(size: Self.size)
    try await withEngine(serving: resource, { $0.storagePatience = 0.01 }) { fixture, server in
      fixture.disk.set([.init(.open, code: code, path: "partial")])
      let client = fixture.client()
      let ids = try await beginThree(client, server)
      #expect(resource.served.isEmpty)
      for id in ids { #expect(try fixture.store.transfer(id)?.head.state == .active) }
      fixture.disk.set([])
      try await expectThree(client, fixture, ids, resource)
    }
  }

  @Test func transfersWaitForAFolderThatIsAway() async throws {
    let resource = FileResource(size: Self.size)
    try await withEngine(serving: resource, { $0.storagePatience = 0.01 }) { fixture, server in
      let (folder, elsewhere) = (fixture.files.partialDirectory, fixture.folder.path + "/elsewhere")
      try FileManager.default.moveItem(atPath: folder, toPath: elsewhere)
      let client = fixture.client()
      let ids = try await beginThree(client, server)
      try FileManager.default.moveItem(atPath: elsewhere, toPath: folder)
      try await expectThree(client, fixture, ids, resource)
    }
  }

  /// Its request is not made again, and nothing else begins meanwhile.
  @Test func anAnswerInMemoryTellsThatTheDiskIsBroken() async throws {
    try await withEngine(serving: { _ in .ok("done") }, { $0.storagePatience = 0.01 }) { fixture, server in
      fixture.disk.set([.init(.write, code: EIO, path: "partial")])
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([.download(server.url("/f").absoluteString, method: "POST")])
      try await eventually("the storage to be found broken") {
        fixture.engine.queue.sync { !fixture.engine.storage.isAvailable }
      }
      fixture.disk.set([])
      let download = try #require(try await client.nextEvent().download)
      #expect(try String(contentsOfFile: download.path, encoding: .utf8) == "done")
      #expect(server.heads.count == 1)
    }
  }

  @Test func aFolderThatStaysAwayIsMadeAgain() async throws {
    let resource = FileResource(size: Self.size)
    try await withEngine(serving: resource, { $0.storagePatience = 0.01 }) { fixture, server in
      try FileManager.default.removeItem(atPath: fixture.files.partialDirectory)
      let client = fixture.client()
      let ids = try await beginThree(client, server)
      fixture.clock.advance(by: 60)
      try await expectThree(client, fixture, ids, resource)
    }
  }

  // MARK: Finished downloads

  /// Runs `body` with an app that comes back for its finished download while the folder of complete files is elsewhere, once a
  /// probe has found that.
  private func withoutComplete(
    serving resource: FileResource, _ body: (EngineFixture, FakeClient, _ elsewhere: String) async throws -> Void
  ) async throws {
    try await withEngine(serving: resource, { $0.storagePatience = 0.01 }) { fixture, server in
      try await fixture.appWithItsEvents(server).app.disconnect()
      await fixture.settle()
      let elsewhere = fixture.folder.path + "/elsewhere"
      try FileManager.default.moveItem(atPath: fixture.files.completeDirectory, toPath: elsewhere)
      let client = fixture.client()
      try await client.begin()
      try await eventually("the folder to be missed") {
        fixture.engine.queue.sync { !fixture.engine.storage.isAvailable }
      }
      #expect(client.events.isEmpty)
      try await body(fixture, client, elsewhere)
      let event = try await client.nextEvent()
      let download = try #require(event.download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: Self.size) == nil)
      let end = try await client.nextEvent()
      #expect(try #require(end.completion).failure == nil)
      try await client.acknowledge([event, end])
    }
  }

  @Test func aFinishedDownloadWaitsForItsFolder() async throws {
    let resource = FileResource(size: Self.size)
    try await withoutComplete(serving: resource) { fixture, _, elsewhere in
      try FileManager.default.moveItem(atPath: elsewhere, toPath: fixture.files.completeDirectory)
    }
    #expect(resource.served.count == 1)
  }

  @Test func aFinishedDownloadWhoseFolderStaysAwayIsLoadedAgain() async throws {
    let resource = FileResource(size: Self.size)
    try await withoutComplete(serving: resource) { fixture, _, _ in fixture.clock.advance(by: 60) }
    #expect(resource.served.count == 2)
  }

  // MARK: Full disks

  /// The disk has room, and the user's share of it is used up: a probe finds that out, and lets the transfer go on at once when
  /// it succeeds.
  @Test func aShareOfTheDiskThatIsUsedUpIsProbedWithoutAskingTheServer() async throws {
    let resource = FileResource(size: Self.size)
    try await withEngine(serving: resource) { fixture, server in
      fixture.disk.set([
        .init(.write, code: EDQUOT, path: "partial/1"), .init(.write, code: EDQUOT, path: "partial/room", times: 1),
      ])
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      func waits() async throws {
        _ = try await client.next {
          guard case .transferChanged(let status) = $0, let waiting = status.waiting else { return nil as Bool? }
          return waiting.code == "noSpace" && waiting.sentence == "The disk has no room." ? true : nil
        }
      }
      try await waits()
      // The first probe fails.
      await fixture.advance(by: 30)
      try await eventually("a probe to have ended") {
        fixture.disk.faultsLeft(of: .write, "partial/room") == 0
          && !fixture.engine.queue.sync { fixture.engine.room.isProbing }
      }
      #expect(resource.served.count == 1)
      fixture.disk.set([])
      // The second one lets the transfer begin without another wait.
      await fixture.advance(by: 30)
      #expect(try await client.nextEvent().download != nil)
      #expect(resource.served.count == 2)
    }
  }

  @Test func aFullDiskIsLookedAtWithoutAskingTheServer() async throws {
    let resource = FileResource(size: Self.size)
    try await withEngine(serving: resource) { fixture, server in
      fixture.disk.setFreeSpace(10)
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      func noSpace(_ available: Int64) async throws {
        _ = try await client.next {
          guard case .transferChanged(let status) = $0, let waiting = status.waiting else { return nil as Bool? }
          return waiting.code == "noSpace" && waiting.sentence.contains(" \(available) are free") ? true : nil
        }
      }
      try await noSpace(10)
      fixture.disk.setFreeSpace(20)
      await fixture.advance(by: 30)
      try await noSpace(20)
      #expect(resource.served.count == 1)
      fixture.disk.setFreeSpace(nil)
      await fixture.advance(by: 30)
      #expect(try await client.nextEvent().download != nil)
      #expect(resource.served.count == 2)
    }
  }
}
