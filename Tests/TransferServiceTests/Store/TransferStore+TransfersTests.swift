import Foundation
import HTTPSemantics
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Transfers: creating them, and what is stored of them.
@Suite struct TransferStoreTransfersTests {
  private let fixture: StoreFixture
  private var store: TransferStore { fixture.store }

  init() throws { fixture = try StoreFixture() }

  @Test func tenThousandTransfersAreCreatedInOneBatch() throws {
    let session = try fixture.session()
    let new = (1...10_000).map {
      TransferStore.NewTransfer(
        .download("https://example.com/files/\($0)", task: $0, headers: [HeaderField("Authorization", "Bearer x")]),
        host: "https://example.com:443")
    }
    let result = try store.create(new, session: session.id, date: Date())
    #expect(result.created.count == 10_000)
    #expect(try store.unfinishedHeads().count == 10_000)
    #expect(try fixture.session().nextTaskIdentifier == 10_001)
  }

  @Test func aTokenIsCreatedOnce() throws {
    let session = try fixture.session()
    let first = try fixture.create(3, session: session.id)
    let again = try store.create(
      (2...4).map { .init(.download("http://h/\($0)", task: $0), host: "h") }, session: session.id, date: Date())
    #expect(Array(again.ids.prefix(2)) == Array(first.suffix(2)))
    #expect(again.created == [again.ids[2]])
    #expect(try store.unfinishedHeads().count == 4)
  }

  @Test func aBatchIsCreatedCompletelyOrNotAtAll() throws {
    let session = try fixture.session()
    _ = try fixture.create(1, session: session.id)
    var clash = TransferDescription.download("http://h/", task: 1)
    clash.token = "another"
    #expect(throws: TransferStoreError.taskIdentifierTaken(1)) {
      try store.create(
        [.init(.download("http://h/", task: 7), host: "h"), .init(clash, host: "h")], session: session.id, date: Date())
    }
    #expect(try store.unfinishedHeads().count == 1)
  }

  @Test func storedValuesAreReadBack() async throws {
    let session = try fixture.session()
    var description = TransferDescription.download("http://h/", running: false, headers: [HeaderField("A", "b")])
    description.priority = 0.75
    description.earliestBeginDate = Date(timeIntervalSince1970: 1_800_000_000)
    let id = try store.create([.init(description, host: "http://h:80")], session: session.id, date: Date()).ids[0]
    let clock = FakeClock()
    let instant = DurableInstant(clock.now + 5, clock: clock)
    let representation = TransferStore.Representation(
      response: ResponseSummary(url: "http://h/", status: 200, headers: [HeaderField("ETag", "\"1\"")]),
      validator: ResumeValidator(entityTag: "\"1\""), expectedTotal: 100)
    try store.commit(offset: 10, representation: representation, of: id)
    try store.commit(offset: 20, representation: nil, of: id)
    try store.setState(.active, of: [id])
    try await written { store.setRetry(failures: 3, because: "lost", at: PlannedTry(instant), of: id, ended: $0) }
    try await written { store.setStarted([id: instant], ended: $0) }
    #expect(try store.transfer(id)?.started == instant)
    try store.setStarted([id: instant])

    let stored = try #require(try store.transfer(id))
    #expect(stored.description == description)
    #expect(stored.response == representation.response)
    #expect(stored.validator == representation.validator)
    #expect(stored.head.committedOffset == 20)
    #expect(stored.head.expectedTotal == 100)
    #expect(stored.head.priority == 0.75)
    #expect(stored.head.earliestBegin == description.earliestBeginDate)
    #expect(stored.head.state == .active)
    #expect(stored.head.failures == 3)
    #expect(stored.head.lastFailure == "lost")
    #expect(stored.head.nextAttempt == PlannedTry(instant))
    #expect(stored.started == instant)
    #expect(try store.unfinishedHeads() == [stored.head])

    // A suspension ends the wait, but not one that a server has asked for.
    try store.setState(.suspended, of: [id])
    #expect(try store.transfer(id)?.head.nextAttempt == nil)
    let busy = PlannedTry(instant, .busyServer(status: 503, keepsBytes: false))
    try await written { store.setRetry(failures: 3, because: "lost", at: busy, of: id, ended: $0) }
    try store.setState(.suspended, of: [id])
    try store.setState(.active, of: [id])
    #expect(try store.transfer(id)?.head.nextAttempt == busy)

    try store.resetProgress(of: id)
    let reset = try #require(try store.transfer(id))
    #expect(reset.head.committedOffset == 0 && reset.validator == nil && reset.response == nil)
  }

  /// Another resource is another request. An edit that is made once more in a new queue says nothing of what came after it.
  @Test(arguments: [(true, false, false), (true, true, true), (false, false, true)])
  func aNewResourceIsNotBegun(startsOver: Bool, isReplay: Bool, isBegun: Bool) throws {
    let id = try fixture.create(1, session: fixture.session().id)[0]
    #expect(try store.unfinishedHeads().map(\.isBegun) == [false])
    try store.setBegun(true, of: id)
    let edit = QueueChange.Edit(
      transfer: id, encoded: try MessageFraming.encode(TransferDescription.download("http://h/new")), priority: 0.5,
      host: "h", changesPassword: false, changesFields: false, startsOver: startsOver)
    try store.database.write { _ = try TransferStore.set(edit, in: $0, isReplay: isReplay) }
    #expect(try store.unfinishedHeads().map(\.isBegun) == [isBegun])
  }

  /// It costs a request at most, and not its effect twice.
  @Test func aDamagedNoteCountsAsOne() throws {
    let id = try fixture.create(1, session: fixture.session().id)[0]
    try store.database.write { try $0.execute(sql: "UPDATE transfers SET begun = 'x'") }
    #expect(try store.mendDamagedRows() == 0)
    #expect(try store.transfer(id)?.head.isBegun == true && store.transfer(id)?.isDamaged == false)
  }
}
