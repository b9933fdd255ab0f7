import Foundation
import TransferProtocol

extension ServiceRequests {
  /// The transfers of this program, oldest first.
  func transfers(includesFinished: Bool = true) async throws -> [TransferStatus] {
    try await list(includesFinished: includesFinished, ofEveryApp: nil)
  }

  /// The transfers of every app, oldest first. Where the service knows this program as an app like others, those of this
  /// program.
  func allTransfers(includesFinished: Bool = true) async throws -> [TransferStatus] {
    var transfers: [TransferStatus] = []
    try await eachPageOfAll(includesFinished: includesFinished) { page in
      transfers += page
      return true
    }
    return transfers
  }

  /// The same, some at a time.
  ///
  /// - Parameter use: returns whether the next ones are wanted.
  func eachPageOfAll(includesFinished: Bool = true, _ use: ([TransferStatus]) -> Bool) async throws {
    do {
      try await eachPage(includesFinished: includesFinished, ofEveryApp: true, use)
    } catch let refusal as Refusal where refusal.reason == .notPermitted {
      // Refused at once: nothing was used.
      try await eachPage(includesFinished: includesFinished, ofEveryApp: nil, use)
    }
  }

  /// The transfers of the app with that program that are not over, oldest first.
  func unfinishedTransfers(ofApp path: String) async throws -> [TransferStatus] {
    let isOwn = path == OwnProgram.path
    return try await list(includesFinished: false, ofEveryApp: isOwn ? nil : true).filter {
      $0.state != .completed && (isOwn || $0.app == path)
    }
  }

  private func list(includesFinished: Bool, ofEveryApp: Bool?) async throws -> [TransferStatus] {
    var transfers: [TransferStatus] = []
    try await eachPage(includesFinished: includesFinished, ofEveryApp: ofEveryApp) { page in
      transfers += page
      return true
    }
    return transfers
  }

  private func eachPage(
    includesFinished: Bool, ofEveryApp: Bool?, _ use: ([TransferStatus]) -> Bool
  ) async throws {
    var after: Int64 = 0
    while true {
      let list = ListTransfers(after: after, includesFinished: includesFinished, ofEveryApp: ofEveryApp)
      guard case .transfers(let page) = try await request(.listTransfers(list)), use(page.transfers),
        let next = page.next, next > after
      else { return }
      after = next
    }
  }

  /// The limits of all transfers of the user together.
  func serviceLimits() async throws -> [BandwidthLimit] {
    guard case .transfers(let page) = try await request(.listTransfers(ListTransfers(after: .max))) else { return [] }
    return page.limits ?? []
  }

  /// The report of a record whose transfer the service has not named. One that the service does not have is lost.
  func report(of record: DownloadRecord) async throws -> TransferReport? {
    guard let report = TransferReport(record) else { return nil }
    guard record.outcome == .queued, try await lacks(report.transfer) else { return report }
    return report.lost()
  }

  /// Whether the service has no such transfer. Where this program sees its own alone, the transfer may be that of another file of
  /// this program.
  private func lacks(_ number: Int64) async throws -> Bool {
    guard try await transfer(number) == nil else { return false }
    do {
      _ = try await request(.listTransfers(ListTransfers(after: .max, ofEveryApp: true)))
      return true
    } catch let refusal as Refusal where refusal.reason == .notPermitted { return false }
  }

  /// nil when there is no such transfer.
  func transfer(_ number: Int64) async throws -> TransferSnapshot? {
    do {
      guard case .transfer(let snapshot) = try await request(.showTransfer(TransferReference(transfer: number)))
      else { return nil }
      return snapshot
    } catch let refusal as Refusal where refusal.reason == .unknownTask {
      return nil
    }
  }
}
