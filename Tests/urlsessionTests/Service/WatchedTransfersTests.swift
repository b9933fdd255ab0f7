import Testing
import TransferProtocol
import URLLoadingSystem

@testable import urlsession

@Suite struct WatchedTransfersTests {
  /// A service that pushes changes when it has read a page of its list, before the page arrives.
  private struct ChangingService: ServiceRequests {
    let pages: [[TransferStatus]]
    let changes: [TransferStatus]
    let seesEveryApp: Bool
    let feed: AsyncStream<TransferStatus>.Continuation

    func request(_ request: ClientRequest) async throws -> ServiceReply {
      switch request {
      case .watch(let watch):
        guard watch.ofEveryApp != true || seesEveryApp else { throw Refusal(.notPermitted, "Not this program.") }
        return .done
      case .listTransfers(let list):
        guard list.ofEveryApp != true || seesEveryApp else { throw Refusal(.notPermitted, "Not this program.") }
        let index = Int(list.after)
        if index == 0 { for change in changes { feed.yield(change) } }
        return .transfers(TransferPage(transfers: pages[index], next: index + 1 < pages.count ? Int64(index) + 1 : nil))
      default: throw Refusal(.invalidRequest, "Not here.")
      }
    }
  }

  private func watch(
    _ pages: [[TransferStatus]], changes: [TransferStatus], seesEveryApp: Bool = true
  ) async throws -> WatchedTransfers {
    let (stream, feed) = AsyncStream.makeStream(of: TransferStatus.self)
    let service = ChangingService(pages: pages, changes: changes, seesEveryApp: seesEveryApp, feed: feed)
    let watched = try await WatchedTransfers(includesFinished: false, over: service, changes: stream)
    feed.finish()
    return watched
  }

  /// A page can be older than what was told before it arrived.
  @Test func anEndThatIsToldWhileTheListIsReadStays() async throws {
    let ended = Sample.status(9, .completed) { $0.isAcknowledged = true }
    let running = [Sample.status(9, received: 5, total: 10)]
    let watched = try await watch([running, [Sample.status(12)]], changes: [ended])
    var model = TopModel()
    model.replace(watched.transfers.map { TransferReport($0) }, at: 0)
    for await status in watched.changes { model.update(TransferReport(status), at: 0) }
    #expect(model.rows.map(\.report.transfer) == [12, 9])
    #expect(model.rows.map { $0.ended != nil } == [false, true])
  }

  @Test func aProgramThatSeesItsOwnAloneWatchesThose() async throws {
    let watched = try await watch([[Sample.status(9)]], changes: [], seesEveryApp: false)
    #expect(watched.transfers.map(\.transfer) == [9])
  }
}
