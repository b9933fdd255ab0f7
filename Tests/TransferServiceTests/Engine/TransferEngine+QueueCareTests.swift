import Foundation
import GRDB
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Copies of the queue that the engine plans, and its end when the queue is damaged.
@Suite struct TransferEngineQueueCareTests {
  @Test func theQueueIsCopiedSomeTimeAfterAChange() async throws {
    try await withEngine({ $0.copyInterval = 0.01 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([.download("http://h/", running: false)])
      let path = "\(fixture.folder.path)/\(QueueCopy.fileName)"
      try await eventually("the copy") {
        guard FileManager.default.fileExists(atPath: path), let copy = try? QueueFile.open(path) else { return false }
        defer { try? copy.close() }
        let count = try? copy.unsafeReentrantRead { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM transfers") }
        return count == 1
      }
    }
  }

  /// Each service is killed before a copy is due.
  @Test func theRecordsOfKilledServicesAreCopiedWhenTheyAreOld() async throws {
    try await withEngine({ $0.copyInterval = 600 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([.download("http://h/", running: false)])
      await fixture.shutDown()
      let records = "\(fixture.folder.path)/enqueued/tasks-1"
      let copy = "\(fixture.folder.path)/\(QueueCopy.fileName)"
      #expect(FileManager.default.fileExists(atPath: records) && !FileManager.default.fileExists(atPath: copy))
      let date = fixture.clock.date.addingTimeInterval(-600)
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: records)
      let next = try await fixture.nextLife()
      try await eventually("the copy") {
        FileManager.default.fileExists(atPath: copy) && !FileManager.default.fileExists(atPath: records)
      }
      #expect(try next.store.unfinishedHeads().count == 1)
    }
  }

  /// Damage is found on any thread. The numbers of the next service are chosen while the engine does nothing else.
  @Test func damageIsNotedOnTheQueueOfTheEngine() async throws {
    try await withEngine { fixture in
      await fixture.settle()
      let quarantine = QueueQuarantine(directory: fixture.folder.path, disk: fixture.disk)
      fixture.engine.queue.suspend()
      #expect(throws: DatabaseError.self) {
        try fixture.store.database.watching { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
      }
      #expect(try quarantine.note() == nil)
      fixture.engine.queue.resume()
      fixture.engine.noteDamage()
      #expect(try quarantine.note()?.reason.isEmpty == false)
      try await fixture.idle.wait()
    }
  }

  @Test func aServiceWithADamagedQueueEndsAndTheNextOneGoesOn() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create([.download("http://h/", running: false)])
      #expect(throws: DatabaseError.self) {
        try fixture.store.database.watching { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
      }
      // Its service ends, and tells apps to connect again.
      try await fixture.idle.wait()
      let reply = try await client.ask(.listTransfers(ListTransfers()))
      guard case .refused(let refusal) = reply else {
        Issue.record("it was carried out")
        return
      }
      #expect(refusal.reason == .shuttingDown)

      let next = try await fixture.nextLife()
      #expect(next.store.quarantine != nil)
      #expect(try next.store.unfinishedHeads().map(\.id) == ids)
    }
  }
}
