import Foundation
import GRDB
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Apps, their sessions, and the history.
@Suite struct TransferStoreSessionsTests {
  private let fixture: StoreFixture
  private var store: TransferStore { fixture.store }

  init() throws { fixture = try StoreFixture() }

  @Test func aListHasWhatTheTransfersThemselvesHave() throws {
    let session = try fixture.session()
    let ids = try fixture.create(3, session: session.id)
    try store.database.write {
      try $0.execute(sql: "UPDATE transfers SET description = x'7b' WHERE id = ?", arguments: [ids[2]])
    }
    let listed = try store.appTransfers(nil, after: 0, includingFinished: true, limit: 9)
    let stored = try ids.map { try #require(try store.transfer($0)) }
    #expect(stored.map(\.isDamaged) == [false, false, true])
    #expect(listed.map(\.outline) == stored.map { TransferOutline($0.description) })
    for (one, whole) in zip(listed, stored) {
      var expected = ListedTransfer(whole)
      // Of fewer columns.
      expected.weight = one.weight
      #expect(one == expected && one.weight <= whole.weight)
    }
  }

  @Test func appsAndSessionsDoNotShareTransfers() throws {
    let one = try fixture.session("s", program: "/one")
    let other = try fixture.session("s", program: "/other")
    #expect(one.id != other.id && one.app != other.app)
    let ids = try fixture.create(2, session: one.id)
    #expect(try store.appTransfers(one.app, after: 0, includingFinished: true, limit: 9).map(\.id) == ids)
    #expect(
      try store.appTransfers(one.app, after: ids[0], includingFinished: true, limit: 9).map(\.id) == [ids[1]])
    #expect(try store.appTransfers(other.app, after: 0, includingFinished: true, limit: 9) == [])
    #expect(try store.acknowledge([1], session: other.id).told == [])
    // The same program with another inode is the same app.
    #expect(
      try store.app(for: ExecutableIdentity(path: "/one", device: 9, inode: 9, owner: 9)) == one.app)
    #expect(try fixture.session("s", program: "/one").id == one.id)
  }

  @Test func theOldestIdleSessionMakesRoomForANewOne() throws {
    let app = try fixture.session("busy").app
    func attach(_ identifier: String, sparing: Set<SessionID> = []) throws -> StoredSession {
      try store.attach(
        app: app, identifier: identifier, options: SessionOptions(), limits: SessionLimits(usual: 3, most: 3),
        sparing: sparing)
    }
    _ = try fixture.create(1, session: attach("busy").id)
    let live = try attach("live")
    _ = try attach("idle")
    _ = try attach("new", sparing: [live.id])
    func names() throws -> [String] {
      try store.database.read { try String.fetchAll($0, sql: "SELECT identifier FROM sessions ORDER BY id") }
    }
    #expect(try names() == ["busy", "live", "new"])
    // One that is known is always attached.
    #expect(try attach("live").id == live.id)
    _ = try fixture.create(1, session: attach("new").id)
    #expect(throws: TransferStoreError.tooManySessions(limit: 3)) { _ = try attach("more", sparing: [live.id]) }
    #expect(try names() == ["busy", "live", "new"])
    // Another app has sessions of its own.
    #expect(try fixture.session("more", program: "/other").app != app)
  }

  @Test func anInvalidatedSessionForgetsAllButHistory() throws {
    let session = try fixture.session()
    let ids = try fixture.create(3, session: session.id)
    try store.finish(ids[0], hasFile: false, completion: StoreFixture.completion(), date: Date())
    _ = try store.acknowledge([1], session: session.id)
    try store.finish(ids[1], hasFile: true, completion: StoreFixture.completion(), date: Date())
    #expect(try store.invalidate(session.id) == [ids[1], ids[2]])
    #expect(try store.eventCount(of: session.id) == 0)
    #expect(try store.appTransfers(session.app, after: 0, includingFinished: true, limit: 9).map(\.id) == [ids[0]])
    // A new session of that name does not use a task identifier again.
    #expect(try fixture.session().nextTaskIdentifier == 4)
  }

  @Test func historyIsPrunedByAgeAndNumber() throws {
    let session = try fixture.session()
    let ids = try fixture.create(6, session: session.id)
    for (index, id) in ids.prefix(5).enumerated() {
      try store.finish(
        id, hasFile: false, completion: StoreFixture.completion(),
        date: Date(timeIntervalSince1970: 1_000 * Double(index + 1)))
    }
    _ = try store.acknowledge([1, 2, 3, 4], session: session.id)
    try store.prune(finishedBefore: Date(timeIntervalSince1970: 1_500), keeping: 2, sparing: [])
    // 1 was too old, 2 one too many; 5 has an event, 6 is not over.
    #expect(
      try store.appTransfers(session.app, after: 0, includingFinished: true, limit: 9).map(\.id)
        == Array(ids.suffix(4)))
  }

  @Test func numbersAreNotUsedAgainAfterTheHistoryIsShortened() throws {
    let session = try fixture.session()
    let ids = try fixture.create(2, session: session.id)
    for id in ids { try store.finish(id, hasFile: false, completion: StoreFixture.completion(), date: Date()) }
    _ = try store.acknowledge([1, 2], session: session.id)
    _ = try fixture.session("unused")
    try store.prune(finishedBefore: Date.distantFuture, keeping: 0, sparing: [])
    // Only the session that never had a task is gone.
    #expect(try store.database.read { try String.fetchAll($0, sql: "SELECT identifier FROM sessions") } == ["s"])
    #expect(try store.appTransfers(session.app, after: 0, includingFinished: true, limit: 9).isEmpty)
    let again = try fixture.session()
    #expect(again.nextTaskIdentifier == 3)
    let id = try store.create([.init(.download("http://h/", task: 3), host: "h")], session: again.id, date: Date()).ids[
      0]
    try store.finish(id, hasFile: false, completion: StoreFixture.completion(), date: Date())
    #expect(try store.events(of: again.id, after: 0, limit: 9).map(\.sequence) == [3])
  }

  @Test func numbersOfAForgottenSessionAreNotUsedAgain() throws {
    let app = try fixture.session("first").app
    func attach(_ identifier: String) throws -> StoredSession {
      try store.attach(
        app: app, identifier: identifier, options: SessionOptions(), limits: SessionLimits(usual: 1, most: 1))
    }
    let session = try attach("first")
    let ids = try fixture.create(3, session: session.id)
    for id in ids { try store.finish(id, hasFile: false, completion: StoreFixture.completion(), date: Date()) }
    _ = try store.acknowledge([1, 2, 3], session: session.id)
    // It makes room for another one, which makes room for it.
    #expect(try attach("second").nextTaskIdentifier == 4)
    let again = try attach("first")
    #expect(again.nextTaskIdentifier == 4)
    let new = TransferStore.NewTransfer(.download("http://h/", task: 4), host: "h")
    let id = try store.create([new], session: again.id, date: Date()).ids[0]
    try store.finish(id, hasFile: false, completion: StoreFixture.completion(), date: Date())
    #expect(try store.events(of: again.id, after: 0, limit: 9).map(\.sequence) == [4])
    // Another app begins with its own.
    #expect(try fixture.session("first", program: "/other").nextTaskIdentifier == 1)
    // A session that never had a task is forgotten, whatever it began with.
    _ = try store.attach(app: app, identifier: "unused", options: SessionOptions())
    try store.prune(finishedBefore: Date.distantPast, keeping: 9, sparing: [])
    #expect(
      try store.database.read { try String.fetchAll($0, sql: "SELECT identifier FROM sessions ORDER BY id") } == [
        "first"
      ])
  }
}
