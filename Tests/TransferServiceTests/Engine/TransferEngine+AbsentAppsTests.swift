import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Tasks of an app that does not come back, of which a service died when it had set aside what had arrived, and before it had
/// written the ends.
@Suite struct TransferEngineAbsentAppsTests {
  private static let unfinished: TransferID = 2

  /// Leaves a finished file and a part of a task that is not over, both set aside.
  private func leaveTasks(in folder: TemporaryFolder) throws -> TransferFiles.SetAside {
    try folder.leaveTransfer(.download("http://h/1")) { store, id in
      try store.finish(id, hasFile: true, completion: StoreFixture.completion(), date: Date())
      try folder.leaveFile("complete/\(id)")
    }
    try folder.leaveTransfer(.download("http://h/2", task: 2, running: false)) { _, id in
      try folder.leaveFile("partial/\(id)")
    }
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    let moved = files.setAside(parts: [Self.unfinished], finished: [1], date: FakeClock().date)
    try #require(moved.paths.count == 2)
    return moved
  }

  @Test func theEndsNameWhatWasSetAsideBefore() async throws {
    let folder = try TemporaryFolder()
    let moved = try leaveTasks(in: folder)
    let change: @Sendable (inout TransferEngine.Settings) -> Void = {
      ($0.ages.absentApp, $0.ages.removedApp, $0.absenceGrace) = (2, 2, 0)
    }
    try await withEngine(in: folder, change) { first in
      var life = first
      for _ in 0..<2 {
        await life.settle()
        life.clock.advance(by: 90_000)
        life = try await life.nextLife()
      }
      let store = life.store
      for (id, path) in moved.paths.sorted(by: { $0.key < $1.key }) {
        try await eventually("the end of transfer \(id)") { try store.transfer(id)?.failure != nil }
        let message = try #require(try store.transfer(id)?.failure?.message)
        #expect(message.contains("is kept in \(path)."), "\(message)")
      }
    }
  }

  @Test func anAppThatIsBackHearsWhereItsFileIs() async throws {
    let folder = try TemporaryFolder()
    let path = try #require(try leaveTasks(in: folder).paths[1])
    try await withEngine(in: folder) { fixture in
      let client = fixture.client()
      try await client.begin()
      let event = try await client.nextEvent()
      let failure = try #require(event.completion?.failure)
      #expect(failure.code == URLError.Code.cannotOpenFile.rawValue && failure.message.contains(path))
      try await client.acknowledge([event])
    }
  }

  /// The key to its request is gone as well.
  @Test func theEndOfALostTaskNamesItsPart() async throws {
    let folder = try TemporaryFolder()
    let moved = try leaveTasks(in: folder)
    try await withEngine(in: folder) { fixture in
      let failure = fixture.engine.queue.sync { fixture.engine.lost(Self.unfinished, because: "of a test") }
      let path = try #require(moved.paths[Self.unfinished])
      #expect(failure.message.contains("is kept in \(path)."))
    }
  }
}
