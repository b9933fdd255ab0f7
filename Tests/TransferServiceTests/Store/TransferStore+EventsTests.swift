import Foundation
import GRDB
import Testing
import TransferProtocol

@testable import TransferService

/// The log of events, and how acknowledging shortens it.
@Suite struct TransferStoreEventsTests {
  private let fixture: StoreFixture
  private var store: TransferStore { fixture.store }

  init() throws { fixture = try StoreFixture() }

  /// Sessions number their events alike.
  @Test func acknowledgementDoesNotReachOtherSessions() throws {
    let one = try fixture.session("one")
    let other = try fixture.session("other")
    let ids = try fixture.create(1, session: one.id)
    for id in ids { try store.finish(id, hasFile: true, completion: StoreFixture.completion(), date: Date()) }
    let acknowledged = try store.acknowledge([1, 2], session: other.id)
    #expect(acknowledged.filesTaken.isEmpty && acknowledged.told.isEmpty)
    #expect(try store.eventCount(of: one.id) == 2)
  }

  @Test func severalEndsAreWrittenInOrder() throws {
    let session = try fixture.session()
    let ids = try fixture.create(3, session: session.id)
    let outlines = try store.outlines(of: ids + [99])
    #expect(outlines.count == 3 && outlines[ids[1]] == .init(url: "http://h/2", response: nil))
    let ends = [ids[2], ids[0], 99, ids[2]].map {
      TransferStore.End(transfer: $0, hasFile: $0 == ids[0], completion: StoreFixture.completion())
    }
    #expect(try store.finish(ends, date: Date()) == [1, 2, 0, 0])
    let events = try store.events(of: session.id, after: 0, limit: 10)
    #expect(events.map(\.sequence) == [1, 2, 3])
    #expect(events.map(\.transfer) == [ids[2], ids[0], ids[0]])
    #expect(try store.unfinishedHeads().map(\.id) == [ids[1]])
  }

  @Test func eachEndHasItsOwnResult() async throws {
    let session = try fixture.session()
    let ids = try fixture.create(3, session: session.id)
    try store.database.write {
      try $0.execute(
        sql: """
          CREATE TRIGGER broken BEFORE INSERT ON events WHEN new.transfer = \(ids[1])
          BEGIN SELECT RAISE(ABORT, 'a broken row'); END
          """)
    }
    let ends = ids.map { TransferStore.End(transfer: $0, hasFile: true, completion: StoreFixture.completion()) }
    let results = await withCheckedContinuation { done in
      store.finish(ends, date: Date()) { done.resume(returning: $0) }
    }
    #expect(results.map { try? $0.get() } == [2, nil, 2])
    #expect(try store.unfinishedHeads().map(\.id) == [ids[1]])
    #expect(try store.events(of: session.id, after: 0, limit: 10).map(\.sequence) == [1, 2, 3, 4])
  }

  @Test func eventsStayUntilTheyAreAcknowledged() throws {
    let session = try fixture.session()
    let ids = try fixture.create(2, session: session.id)
    #expect(try store.finish(ids[1], hasFile: true, completion: StoreFixture.completion(), date: Date()) == 2)
    var failed = StoreFixture.completion(0)
    failed.failure = TransferFailure(domain: "d", code: 1, message: "m")
    #expect(try store.finish(ids[0], hasFile: false, completion: failed, date: Date()) == 1)
    // Over is over.
    #expect(try store.finish(ids[0], hasFile: true, completion: StoreFixture.completion(), date: Date()) == 0)

    let events = try store.events(of: session.id, after: 0, limit: 10)
    #expect(events.map(\.sequence) == [1, 2, 3])
    #expect(events.map(\.kind) == [.finishedDownloading, .completed, .completed])
    #expect(events.map(\.transfer) == [ids[1], ids[1], ids[0]])
    #expect(try store.events(of: session.id, after: 1, limit: 1).map(\.sequence) == [2])
    #expect(try store.transfersWithUndeliveredFile() == [ids[1]])

    let first = try store.acknowledge([1], session: session.id)
    #expect(first == .init(removed: 1, filesTaken: [ids[1]]))
    let second = try store.acknowledge([2, 2, 99], session: session.id)
    #expect(second == .init(removed: 1, told: [ids[1]]))
    #expect(try store.transfer(ids[1])?.isAcknowledged == true)
    #expect(try store.transfer(ids[0])?.isAcknowledged == false)
    #expect(try store.sessionTransfers(session.id, after: 0, limit: 10).map(\.head.id) == [ids[0]])
    #expect(try store.eventCount(of: session.id) == 1)
  }

  @Test func historyHoldsNoCredentials() throws {
    let session = try fixture.session()
    var description = TransferDescription.download("http://h/", headers: [HeaderField("Authorization", "Bearer x")])
    description.request.body = Data("secret".utf8)
    let id = try store.create([.init(description, host: "h")], session: session.id, date: Date()).ids[0]
    var completion = StoreFixture.completion()
    completion.response?.headers = [HeaderField("Set-Cookie", "session=secret")]
    try store.finish(id, hasFile: false, completion: completion, date: Date())
    #expect(try store.transfer(id)?.description.request.headers.isEmpty == false)
    #expect(try store.transfer(id)?.response?.headers.isEmpty == false)
    _ = try store.acknowledge([1], session: session.id)
    let history = try #require(try store.transfer(id))
    #expect(history.description.request.headers == [])
    #expect(history.description.request.body == nil)
    #expect(history.description.request.url == "http://h/")
    #expect(history.response?.status == 200 && history.response?.headers == [])
  }

  @Test func anUnreadableRowDoesNotHideOthers() throws {
    let session = try fixture.session()
    let ids = try fixture.create(2, session: session.id)
    try store.database.write {
      try $0.execute(
        sql: "UPDATE transfers SET description = x'00', nextAttempt = x'00' WHERE id = ?", arguments: [ids[0]])
      try $0.execute(sql: "UPDATE sessions SET options = x'00'")
    }
    #expect(try store.unfinishedHeads().count == 2)
    let live = try store.liveSessions()
    #expect(live.first?.options == SessionOptions())
    let read = try store.sessionTransfers(session.id, after: 0, limit: 9)
    #expect(read.map(\.isDamaged) == [true, false])
    try store.finish(ids[0], hasFile: false, completion: StoreFixture.completion(), date: Date())
    try store.database.write { try $0.execute(sql: "UPDATE events SET completion = x'00'") }
    let events = try store.events(of: session.id, after: 0, limit: 9)
    #expect(events.first?.completion.failure != nil)
    #expect(try store.acknowledge(events.map(\.sequence), session: session.id).told == [ids[0]])
  }
}
