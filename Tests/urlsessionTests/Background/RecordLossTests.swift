import Foundation
import Testing
import TransferProtocol

@testable import urlsession

/// What a service that runs has told of a transfer that is lost.
@Suite struct RecordLossTests {
  private let folder = TemporaryFolder()
  private var store: RecordStore { RecordStore(state: folder.path) }
  private let queued = Sample.record(.queued) { $0.isOfURLAlone = true }

  @Test func aLossIsKnownWithoutAService() throws {
    _ = try store.update(queued.session) { _ in queued }
    store.note(try #require(TransferReport(queued)).lost(), of: queued)
    let record = try #require(store.read(queued.session))
    let report = try #require(TransferReport(record)).withoutService()
    #expect(report.isLost && report.outcome == .failed && report.waiting == nil)
    #expect(report.finished != nil && report.again == "retry 17")
    #expect(EndedTransfer(report, record) != nil, "retry begins it again")
  }

  /// It ended while the service was asked.
  @Test func anEndStays() throws {
    _ = try store.update(queued.session) { _ in Sample.record(.saved) }
    store.note(try #require(TransferReport(queued)).lost(), of: queued)
    #expect(store.read(queued.session)?.outcome == .saved)
  }

  @Test func aTransferThatTheServiceHasIsNotLost() throws {
    _ = try store.update(queued.session) { _ in queued }
    store.note(try #require(TransferReport(queued)), of: queued)
    #expect(store.read(queued.session)?.outcome == .queued)
    store.note(try #require(TransferReport(queued)).lost(), of: queued)
    // Its queue has come back.
    let record = try #require(store.read(queued.session))
    let report = TransferReport(Sample.status(17), record: record)
    #expect(report.outcome == nil && report.failure == nil && report.stateWord == "running")
    #expect(record.found.outcome == .queued && record.found.message == nil)
  }
}
