import Foundation
import GRDB
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Tasks that were created since the queue was copied last.
@Suite struct NewTaskJournalTests {
  private func loseQueue(_ fixture: EngineFixture) throws {
    for suffix in ["", "-wal", "-shm"] {
      try fixture.disk.remove("\(fixture.folder.path)/\(TransferStore.fileName)\(suffix)")
    }
  }

  private func tasks(_ numbers: some Sequence<Int>) -> [TransferDescription] {
    numbers.map { .download("http://h/\($0)", task: $0, running: false) }
  }

  @Test func aTaskWithoutBytesOutlivesTheFileOfTheQueue() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create(tasks(1...3))
      try await client.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 2)))
      try await client.acknowledge([try await client.nextEvent()])
      await fixture.settle()
      fixture.engine.newTasks.drain()
      await fixture.shutDown()
      try loseQueue(fixture)

      let next = try await fixture.nextLife()
      #expect(try #require(next.store.quarantine).contents.contains("2 tasks by their journals"))
      // One that was over for its app does not begin again.
      let heads = try next.store.unfinishedHeads()
      #expect(heads.map(\.id) == [ids[0], ids[2]] && heads.allSatisfy { $0.state == .suspended && $0.host == "h" })
      let again = next.client()
      let attached = try #require(try await again.begin())
      #expect(attached.page.tasks.map(\.description.request.url) == ["http://h/1", "http://h/3"])
      #expect(attached.page.tasks.map(\.description.token) == ["token-1", "token-3"])
    }
  }

  /// The queue is as it was a while ago, as where its log was lost: nothing of it is damaged, or one page.
  @Test(arguments: [false, true]) func newTasksOutliveTheLastChangesOfTheQueue(damaged: Bool) async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let first = try await client.create(tasks(1...3))
      try fixture.store.checkpoint()
      await fixture.shutDown()
      let path = "\(fixture.folder.path)/\(TransferStore.fileName)"
      var earlier = try Data(contentsOf: URL(fileURLWithPath: path))
      if damaged {
        let place = try #require(earlier.range(of: Data("http://h/1".utf8))).lowerBound / 4_096 * 4_096
        earlier.replaceSubrange(place..<place + 4_096, with: Data(repeating: 0xa5, count: 4_096))
      }
      let second = try await fixture.nextLife()
      let again = second.client()
      try await again.begin()
      let later = try await again.create(tasks(4...6))
      await second.shutDown()
      try loseQueue(second)
      try earlier.write(to: URL(fileURLWithPath: path))

      let third = try await second.nextLife()
      #expect(third.store.quarantine != nil)
      #expect(try third.store.unfinishedHeads().map(\.id) == first + later)
      await third.shutDown()
    }
  }

  @Test func theFieldsOfItsRequestAreSealedAndAreThereAgain() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let field = HeaderField("Authorization", "Basic abc")
      _ = try await client.create([.download("http://h/1", running: false, headers: [field])])
      let content = try Data(contentsOf: URL(fileURLWithPath: "\(fixture.folder.path)/enqueued/tasks-1"))
      #expect(content.range(of: Data("Basic abc".utf8)) == nil)
      await fixture.shutDown()
      try loseQueue(fixture)
      let next = try await fixture.nextLife()
      let again = next.client()
      let attached = try #require(try await again.begin())
      #expect(attached.page.tasks.first?.description.request.headers == [field])
    }
  }

  @Test func tasksOfOneRequestWaitForTheDiskOnce() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      #expect(try await client.create(tasks(1...500)).count == 500)
      let syncs = fixture.disk.log.filter { $0.hasPrefix("sync enqueued/") }
      #expect(syncs == ["sync enqueued/tasks-1"])
      #expect(try fixture.files.newTasks.records().journals.map(\.description.taskIdentifier) == Array(1...500))
    }
  }

  /// The queue has the task, whatever becomes of the second record, which is written with the next one.
  @Test func aTaskIsCreatedThoughItsRecordCannotBeWritten() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      fixture.disk.set([.init(.write, code: ENOSPC, path: "/enqueued/")])
      #expect(try await client.create(tasks(1...1)).count == 1)
      fixture.disk.set([])
      #expect(try await client.create(tasks(2...2)).count == 1)
      #expect(try fixture.files.newTasks.records().journals.map(\.description.taskIdentifier) == [1, 2])
    }
  }

  /// A disk that is full for a moment.
  @Test func aTaskWaitsForItsRecordForAWhile() async throws {
    try await withEngine({ $0.recordPatience = 3_600 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      fixture.disk.set([.init(.write, code: ENOSPC, path: "/enqueued/", times: 4)])
      #expect(try await client.create(tasks(1...1)).count == 1)
      #expect(try fixture.files.newTasks.records().journals.map(\.description.taskIdentifier) == [1])
      // It is not waited for any more once the service ends.
      fixture.disk.set([.init(.write, code: EIO, path: "/enqueued/")])
      let request = client.tell(.createTasks(CreateTasks(session: "s", tasks: Array(tasks(2...2)))))
      try await eventually("the task in the queue") { try fixture.store.unfinishedHeads().count == 2 }
      #expect(client.reply(to: request) == nil)
      fixture.engine.newTasks.stopWaiting()
      _ = try await client.awaitReply(to: request)
    }
  }

  @Test func aRecordThatCouldNotBeWrittenIsWrittenBeforeTheNextCopy() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      fixture.disk.set([.init(.write, code: EIO, path: "/enqueued/")])
      #expect(try await client.create(tasks(1...2)).count == 2)
      fixture.disk.set([])
      // Nothing is copied.
      try fixture.engine.copyAtEnd(upTo: 1)
      #expect(try fixture.files.newTasks.records().journals.map(\.description.taskIdentifier) == [1, 2])
      await fixture.shutDown()
      try loseQueue(fixture)
      let next = try await fixture.nextLife()
      #expect(try next.store.unfinishedHeads().count == 2)
    }
  }

  /// The queue has room in its log, and the disk has none: the next file of records has some.
  @Test func aRecordTakesTheRoomOfTheSpareFile() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      #expect(try await client.create(tasks(1...1)).count == 1)
      let spare = "\(fixture.folder.path)/\(NewTaskFolder.spareName)"
      var status = stat()
      #expect(stat(spare, &status) == 0 && status.st_size == 0 && status.st_blocks * 512 >= 256 << 10)
      // The last bytes of a disk are not taken for another one.
      fixture.disk.setFreeSpace(1 << 19)
      fixture.disk.set([.init(.write, code: ENOSPC, path: "/enqueued/tasks-1")])
      #expect(try await client.create(tasks(2...3)).count == 2)
      #expect(fixture.names("enqueued") == ["tasks-1", "tasks-2"])
      #expect(try fixture.files.newTasks.records().journals.map(\.description.taskIdentifier) == [1, 2, 3])
      #expect(!FileManager.default.fileExists(atPath: spare))
    }
  }

  /// The queue has room in its log, and the disk has none.
  @Test func aRecordTakesTheRoomOfTheReserve() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let reserve = QueueReserve(directory: fixture.folder.path, disk: fixture.disk)
      try reserve.restore()
      // Too little for a spare file.
      fixture.disk.setFreeSpace(1 << 19)
      fixture.disk.set([.init(.write, code: ENOSPC, path: "/enqueued/", times: 2)])
      #expect(try await client.create(tasks(1...2)).count == 2)
      #expect(try fixture.files.newTasks.records().journals.map(\.description.taskIdentifier) == [1, 2])
      #expect(!reserve.release())
    }
  }

  /// A full disk may cut a record off. The part that is there takes room, and each try would add another one.
  @Test func nothingIsLeftOfARecordThatCouldNotBeWritten() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      // Too little for a spare file.
      fixture.disk.setFreeSpace(1 << 19)
      fixture.disk.set([.init(.sync, code: ENOSPC, path: "/enqueued/")])
      #expect(try await client.create(tasks(1...1)).count == 1)
      #expect(try await client.create(tasks(2...2)).count == 1)
      #expect(fixture.names("enqueued") == ["tasks-1"])
      #expect(try fixture.disk.size(of: "\(fixture.folder.path)/enqueued/tasks-1") == 0)
      fixture.disk.set([])
      #expect(try await client.create(tasks(3...3)).count == 1)
      #expect(try fixture.files.newTasks.records().journals.map(\.description.taskIdentifier) == [1, 2, 3])
      #expect(fixture.names("enqueued") == ["tasks-1"])
    }
  }

  /// An acknowledgement may need the reserve itself.
  @Test func theEndsOfTasksDoNotTakeTheRoomOfTheReserve() async throws {
    try await withEngine { fixture in
      let reserve = QueueReserve(directory: fixture.folder.path, disk: fixture.disk)
      try reserve.restore()
      fixture.disk.set([.init(.write, code: ENOSPC, path: "/enqueued/", times: 2)])
      // The second one finds the first unwritten.
      for id in [7, 8, 9] as [TransferID] {
        fixture.engine.newTasks.ended([id])
        fixture.engine.newTasks.drain()
      }
      #expect(try fixture.files.newTasks.records().ended == [7, 8, 9])
      #expect(reserve.release())
    }
  }

  @Test func recordsGoWhenTheQueueIsCopied() async throws {
    try await withEngine({ $0.copyInterval = 0.01 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      #expect(try await client.create(tasks(1...2)).count == 2)
      try await eventually("the removal of the records") { fixture.names("enqueued").isEmpty }
      #expect(FileManager.default.fileExists(atPath: "\(fixture.folder.path)/\(QueueCopy.fileName)"))
    }
  }

  @Test func recordsOfAFailedCopyStay() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      #expect(try await client.create(tasks(1...2)).count == 2)
      #expect(throws: Never.self) { try fixture.engine.copyAtEnd(upTo: 1) }
      #expect(fixture.names("enqueued") == ["tasks-1"])
      #expect(try await client.create(tasks(3...3)).count == 1)
      #expect(fixture.names("enqueued") == ["tasks-1", "tasks-2"])
      try fixture.engine.copyAtEnd(upTo: .max)
      #expect(fixture.names("enqueued") == [])
    }
  }

  @Test(arguments: [1, 40, 200]) func aRecordThatIsCutOffTakesNoOtherWithIt(count: Int) throws {
    let fixture = try StoreFixture()
    let session = try fixture.session()
    let new = TransferStore.NewTransfer(.download("http://h/1"), host: "h")
    let first = try NewTaskRecord.encode([(new, 7)], of: session, at: Date())
    let second = try NewTaskRecord.encode([(new, 8)], of: session, at: Date())
    var content = first + NewTaskRecord.encode(ended: [3]) + second.dropLast(count)
    #expect(NewTaskRecord.records(in: content).map(\.numbers) == [[7], [3]])
    // A byte that the disk has changed.
    content[first.count / 2] ^= 1
    #expect(NewTaskRecord.records(in: content).isEmpty)
    #expect(NewTaskRecord.records(in: first + second).map(\.numbers) == [[7], [8]])
  }

  // MARK: Long queues

  @Test func damageInALongQueueIsFoundWhileTheServiceWorks() async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/\(TransferStore.fileName)"
    let store = try TransferStore.open(in: folder.path)
    let session = try store.attach(
      app: store.app(for: StoreFixture.program), identifier: "s", options: SessionOptions())
    let new = (1...300).map { TransferStore.NewTransfer(.download("http://h/mark-\($0)", task: $0), host: "h") }
    _ = try store.create(new, session: session.id, date: Date())
    try store.checkpoint()
    #expect(throws: Never.self) { try store.checkIfLonger(than: 0) }
    #expect(store.damage == nil)
    // Under the service, as a disk damages it.
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let place = try #require(bytes.range(of: Data("http://h/mark-150".utf8))).lowerBound / 4_096 * 4_096
    bytes.replaceSubrange(place..<place + 4_096, with: Data(repeating: 0xa5, count: 4_096))
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.seek(toOffset: UInt64(place))
    try file.write(contentsOf: bytes[place..<place + 4_096])
    try file.close()
    try? store.checkIfLonger(than: Int64(bytes.count))
    #expect(store.damage == nil)
    try? store.checkIfLonger(than: 0)
    #expect(store.damage != nil)
    try store.close()
  }
}

extension NewTaskRecord {
  fileprivate var numbers: [TransferID] {
    switch self {
    case .new(let tasks): tasks.map(\.transfer)
    case .ended(let ids): ids
    case .changed: []
    }
  }
}
