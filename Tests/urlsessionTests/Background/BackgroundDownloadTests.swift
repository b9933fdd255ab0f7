import Foundation
import Synchronization
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import urlsession

@Suite struct BackgroundDownloadTests {
  /// Answers with some transfers, and counts the lists that are asked for.
  private final class Lists: ServiceRequests {
    private let transfers: [TransferStatus]
    private let failures: Mutex<[any Error & Sendable]>
    let count = Mutex(0)

    init(_ transfers: [TransferStatus], failing failures: [any Error & Sendable] = []) {
      self.transfers = transfers
      self.failures = Mutex(failures)
    }

    func request(_ request: ClientRequest) async throws -> ServiceReply {
      guard case .listTransfers = request else { throw Refusal(.invalidRequest, "") }
      count.withLock { $0 += 1 }
      if let failure = failures.withLock({ $0.popLast() }) { throw failure }
      return .transfers(TransferPage(transfers: transfers))
    }
  }

  private func transfer(_ number: Int64, session: String) -> TransferStatus {
    TransferStatus(
      transfer: number, session: session, taskIdentifier: 1, kind: .download, url: "http://a/", state: .running,
      created: Date(timeIntervalSince1970: 1_000))
  }

  @Test func oneListTellsOfAllTransfersThatWereHandedOverTogether() async throws {
    let service = Lists((1...60).map { transfer($0, session: "s\($0)") })
    let statuses = try await BackgroundDownload.statuses(ofSessions: (1...61).map { "s\($0)" } + ["t"], service)
    #expect(statuses.count == 60 && statuses["s60"]?.transfer == 60 && statuses["t"] == nil)
    #expect(service.count.withLock { $0 } == 1)
  }

  /// The service forgets the oldest of those that are over.
  @Test(
    arguments: [
      (nil, false, false), (.queued, false, false), (.placing, false, false), (.saved, false, true),
      (.httpError, false, true), (.cancelled, false, true), (.failed, true, false),
    ] as [(DownloadRecord.Outcome?, Bool, Bool)])
  func aTransferWhoseEndIsRecordedWasTaken(outcome: DownloadRecord.Outcome?, hasFailed: Bool, isOver: Bool) {
    let record = outcome.map { outcome in
      var record = DownloadRecord(
        session: "s", url: "http://a/", destination: Destination(path: "/x", isFolder: false))
      record.outcome = outcome
      return record
    }
    #expect(BackgroundDownload.isOver(record, hasFailed ? URLError(.unknown) : nil) == isOver)
  }

  @Test func aServiceThatIsJustBeingReplacedIsAskedAgain() async throws {
    let service = Lists([transfer(1, session: "s")], failing: [Refusal(.shuttingDown, "")])
    #expect(try await BackgroundDownload.statuses(ofSessions: ["s"], service)["s"]?.transfer == 1)
    let refusing = Lists([], failing: [Refusal(.invalidRequest, "")])
    await #expect(throws: Refusal.self) { try await BackgroundDownload.statuses(ofSessions: ["s"], refusing) }
  }
}
