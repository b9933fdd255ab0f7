import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Each of the service's folders can be gone or broken, whichever part of the service finds that out.
@Suite struct TransferEngineFoldersTests {
  @Sendable private static func quick(_ settings: inout TransferEngine.Settings) { settings.storagePatience = 0.01 }

  private func storage(_ fixture: EngineFixture, isAvailable: Bool) async throws {
    try await eventually("the storage to be \(isAvailable ? "well" : "at fault")") {
      fixture.engine.queue.sync { fixture.engine.storage.isAvailable == isAvailable }
    }
  }

  private func remove(_ folder: String, _ fixture: EngineFixture) throws {
    try FileManager.default.removeItem(atPath: "\(fixture.folder.path)/\(folder)")
  }

  /// One that is gone is made again after a minute.
  @Test(arguments: ServiceNames.folders, [ENOENT, EACCES, EIO, EROFS, ESTALE])
  func transfersWaitForEachFolder(name: String, code: Int32) async throws {
    try await withEngine(Self.quick) { fixture in
      let path = "\(fixture.folder.path)/\(name)"
      if code == ENOENT {
        try remove(name, fixture)
      } else {
        fixture.disk.set([.init(.open, code: code, path: "\(path)/")])
      }
      fixture.engine.enter { $0.storageIsSuspect(after: SystemError(code, "open", path: "\(path)/1")) }
      try await storage(fixture, isAvailable: false)
      if code == ENOENT { fixture.clock.advance(by: 60) } else { fixture.disk.set([]) }
      try await storage(fixture, isAvailable: true)
      #expect(FileManager.default.fileExists(atPath: path))
    }
  }

  /// The fault may be that of one file.
  @Test func transfersGoOnWhereAProbeFindsNoFault() async throws {
    try await withEngine(Self.quick) { fixture in
      let error = SystemError(EIO, "read", path: fixture.files.complete(7))
      let syncs = { fixture.disk.log.count { $0.hasPrefix("syncDirectory ") && $0.hasSuffix("/enqueued") } }
      let before = syncs()
      fixture.engine.enter { $0.storageIsSuspect(after: error) }
      try await eventually("a probe") {
        syncs() > before && fixture.engine.queue.sync { !fixture.engine.isProbingStorage }
      }
      #expect(fixture.engine.queue.sync { fixture.engine.storage == StorageWatch() })
    }
  }

  @Test func aFullDiskIsNoFaultOfTheFolders() async throws {
    try await withEngine(Self.quick) { fixture in
      let error = SystemError(ENOSPC, "write", path: fixture.files.upload(7))
      fixture.engine.enter { $0.storageIsSuspect(after: error) }
      #expect(fixture.engine.queue.sync { !fixture.engine.timers.isSet(.storage) })
    }
  }

  @Test func anUploadThatIsRefusedForItsFolderIsTakenLater() async throws {
    try await withEngine(Self.quick) { fixture in
      let app = fixture.client()
      try await app.begin()
      let path = fixture.appFolder.path + "/file"
      try Data("abc".utf8).write(to: URL(fileURLWithPath: path))
      let upload = TransferDescription.upload(path, to: "http://h/", running: false)
      try remove("uploads", fixture)
      let reply = try await app.ask(
        .createTasks(CreateTasks(session: "s", tasks: [upload])), passing: [try SourceFile.open(path)])
      guard case .refused(let refusal) = reply else {
        Issue.record("it was taken")
        return
      }
      #expect(refusal.reason == .storage)
      try await storage(fixture, isAvailable: false)
      fixture.clock.advance(by: 60)
      try await storage(fixture, isAvailable: true)
      let id = try #require(try await app.create([upload]).first)
      #expect(fixture.names("uploads") == ["\(id)"])
    }
  }

  @Test func aFileIsDeliveredOnceItsFolderIsMadeAgain() async throws {
    let resource = FileResource(size: 3_000)
    try await withEngine(serving: resource, Self.quick) { fixture, server in
      try await fixture.appWithItsEvents(server).app.disconnect()
      await fixture.settle()
      try remove("delivery", fixture)
      let app = fixture.client()
      try await app.begin()
      try await storage(fixture, isAvailable: false)
      fixture.clock.advance(by: 60)
      let event = try await app.nextEvent()
      let download = try #require(event.download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 3_000) == nil)
      #expect(resource.served.count == 1)
      try await app.acknowledge([event, try await app.nextEvent()])
    }
  }

  /// Those that were in the folder are in the queue alone until it is copied.
  @Test func newTasksAreWrittenDownOnceTheirFolderIsMadeAgain() async throws {
    try await withEngine(Self.quick) { fixture in
      let app = fixture.client()
      try await app.begin()
      func create(_ task: Int) async throws {
        #expect(try await app.create([.download("http://h/\(task)", task: task, running: false)]).count == 1)
      }
      try await create(1)
      #expect(fixture.names("enqueued") == ["tasks-1"])
      try remove("enqueued", fixture)
      try await create(2)
      try await storage(fixture, isAvailable: false)
      fixture.clock.advance(by: 60)
      try await storage(fixture, isAvailable: true)
      fixture.engine.newTasks.drain()
      #expect(try fixture.files.newTasks.records().journals.map(\.description.taskIdentifier) == [2])
    }
  }
}
