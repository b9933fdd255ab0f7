import Foundation
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Queues without the last changes that were made of them, as where their logs were lost: no new task was among these.
@Suite struct LostChangesTests {
  /// Puts the file of the queue back as it was, without the log.
  private func restore(_ earlier: Data, in folder: TemporaryFolder) throws {
    let path = "\(folder.path)/\(TransferStore.fileName)"
    for suffix in ["", "-wal", "-shm"] { try LinuxFileSystem().remove(path + suffix) }
    try earlier.write(to: URL(fileURLWithPath: path))
  }

  /// Has all changes copied. Returns the file of the queue.
  private func copied(_ store: TransferStore, in folder: TemporaryFolder) throws -> Data {
    try store.copyIfChanged()
    try store.checkpoint()
    return try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(TransferStore.fileName)"))
  }

  @Test func changesThatTheQueueHasLostAreMadeOnceMore() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create((1...4).map { .download("http://h/\($0)", task: $0) })
      await fixture.settle()
      try fixture.engine.copyAtEnd(upTo: .max)
      let earlier = try copied(fixture.store, in: fixture.folder)
      try await app.ask(.holdTransfer(TransferReference(transfer: ids[0])))
      for id in ids[1...2] { try await app.ask(.cancelTransfer(TransferReference(transfer: id))) }
      await fixture.settle()
      fixture.engine.newTasks.drain()
      await fixture.shutDown()
      try restore(earlier, in: fixture.folder)

      let second = try await fixture.nextLife()
      let contents = try #require(second.store.quarantine).contents
      #expect(contents.contains("later changes by their records, what the old one has"))
      let heads = try second.store.unfinishedHeads()
      #expect(heads.map(\.id) == [ids[0], ids[3]] && heads.map(\.isHeld) == [true, false])
      let session = try #require(try second.store.liveSessions().first)
      #expect(try second.store.events(of: session.id, after: 0, limit: 9).map(\.taskIdentifier) == [2, 3])

      // The new queue is not behind the records, and its own changes count.
      let again = second.client()
      try await again.begin()
      try await again.ask(.holdTransfer(TransferReference(transfer: ids[3])))
      await second.settle()
      let third = try await second.nextLife()
      #expect(third.store.quarantine == nil)
      #expect(try third.store.unfinishedHeads().map(\.isHeld) == [true, true])
    }
  }

  enum Told: CaseIterable { case acknowledged, invalidated }

  /// Its app would be told again, and find no file, or have it run again.
  @Test(arguments: Told.allCases) func aTaskThatIsOverForItsAppDoesNotComeBack(told: Told) async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let id = try await app.create([.download("http://h/1")])[0]
      try await app.ask(.cancelTransfer(TransferReference(transfer: id)))
      let event = try await app.nextEvent()
      await fixture.settle()
      try fixture.engine.copyAtEnd(upTo: .max)
      let earlier = try copied(fixture.store, in: fixture.folder)
      switch told {
      case .acknowledged: try await app.acknowledge([event])
      case .invalidated: try await app.ask(.invalidate(SessionReference(session: "s")))
      }
      await fixture.settle()
      fixture.engine.newTasks.drain()
      await fixture.shutDown()
      try restore(earlier, in: fixture.folder)

      let next = try await fixture.nextLife()
      #expect(next.store.quarantine != nil)
      #expect(try next.store.unfinishedHeads() == [])
      #expect(try next.store.liveSessions().allSatisfy { try next.store.eventCount(of: $0.id) == 0 })
    }
  }

  /// The records went when the copy had their changes. A queue that is damaged as well has nothing that is newer.
  @Test(arguments: [false, true]) func theCopyMayHaveChangesThatTheQueueHasLost(damaged: Bool) throws {
    let folder = try TemporaryFolder()
    let store = try TransferStore.open(in: folder.path)
    let session = try store.attach(
      app: store.app(for: StoreFixture.program), identifier: "s", options: SessionOptions())
    let new = (1...300).map { TransferStore.NewTransfer(.download("http://h/mark-\($0)-", task: $0), host: "h") }
    let ids = try store.create(new, session: session.id, date: Date()).ids
    var earlier = try copied(store, in: folder)
    try store.setState(.suspended, of: [ids[6]])
    try store.copyIfChanged()
    try store.close()
    if damaged {
      let place = try #require(earlier.range(of: Data("http://h/mark-150-".utf8))).lowerBound / 4_096 * 4_096
      earlier.replaceSubrange(place..<place + 4_096, with: Data(repeating: 0xa5, count: 4_096))
    }
    try restore(earlier, in: folder)

    let next = try TransferStore.open(in: folder.path)
    #expect(try #require(next.quarantine).contents.contains("what the copy of"))
    let heads = try next.unfinishedHeads()
    #expect(heads.map(\.id) == ids && heads.filter { $0.state == .suspended }.map(\.id) == [ids[6]])
    try next.close()
    let last = try TransferStore.open(in: folder.path)
    #expect(last.quarantine == nil)
    try last.close()
  }

  /// A copy that can't be used, and a record that is found later, do not have the new queue made once more at each start.
  @Test func aQueueThatIsMadeAnewIsBehindNothing() throws {
    let folder = try TemporaryFolder()
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    try folder.leaveTransfer(.download("http://h/1")) { _, _ in }
    let record = URL(fileURLWithPath: "\(files.newTasks.directory)/tasks-1")
    try NewTaskRecord.encode(count: 70).write(to: record)
    let store = try TransferStore.open(in: folder.path)
    #expect(try store.quarantine != nil && store.unfinishedHeads().count == 1)
    #expect(try store.database.read { try QueueNumbers.changes(in: $0) } > 70)
    try store.close()
    for count in [70, 700, TransferNumbers.end, .max] {
      try NewTaskRecord.encode(count: count).write(to: record)
      let next = try TransferStore.open(in: folder.path)
      #expect(next.quarantine == nil)
      try next.close()
    }
  }
}
