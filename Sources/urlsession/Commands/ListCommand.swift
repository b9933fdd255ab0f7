import ArgumentParser
import CommandLineOutput
import Foundation
import TransferProtocol
import URLLoadingSystem

/// `urlsession list`
struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the transfers in the background, whichever app queued them.",
    discussion: "Does not start the transfer service: without one, only what this program remembers is listed.")

  @Flag(name: [.short, .long], help: "List those that are over, too.") var all = false
  @Flag(help: "Print one JSON object with all of them.") var json = false

  func run() async throws {
    let service = try await PatientConnection.openIfRunning()
    defer { service?.close() }
    let store = try RecordStore.usual()
    if json, !all, let text = try await service?.json(records: store) { return StandardOutput.print(pieces: text) }
    var reports: [TransferReport]
    do { reports = try await service?.reports(records: store, all: all) ?? [] } catch {
      throw CommandFailure.service(error)
    }
    if all || service == nil {
      let known = Set(reports.map(\.transfer))
      for record in store.all() where record.transfer.map({ !known.contains($0) }) == true {
        guard let report = try await TransferReport.load(record, from: service) else { continue }
        if all || report.outcome == nil { reports.append(report) }
      }
      reports.sort { $0.transfer < $1.transfer }
    }
    if json { return try JSONOutput.print(TransferReports(transfers: reports)) }
    if reports.isEmpty {
      StandardError.print("No transfers\(service == nil ? "; the transfer service does not run" : "").")
    } else {
      StandardOutput.print(lines: TransferTable.lines(reports))
    }
  }
}

extension TransferStatus {
  /// Bytes per second, received and sent, since an earlier status.
  func rate(since earlier: TransferStatus, seconds: Double) -> Double {
    let received = Double(countOfBytesReceived) - Double(earlier.countOfBytesReceived)
    let sent = Double(countOfBytesSent ?? 0) - Double(earlier.countOfBytesSent ?? 0)
    return seconds > 0 ? (max(0, received) + max(0, sent)) / seconds : 0
  }
}

extension ServiceRequests {
  /// Transfers that run are looked at twice, for their rates.
  func reports(records: RecordStore, all: Bool) async throws -> [TransferReport] {
    let first = try await allTransfers()
    var reports = first.map { TransferReport($0, in: records) }
    if first.contains(where: { $0.state == .running }) {
      let started = ContinuousClock.now
      try await Task.sleep(for: .milliseconds(500))
      let second = try await allTransfers()
      let seconds = (ContinuousClock.now - started) / .seconds(1)
      let before = Dictionary(first.map { ($0.transfer, $0) }) { $1 }
      reports = second.map { status in
        var report = TransferReport(status, in: records)
        if status.state == .running, let earlier = before[status.transfer] {
          report.rate = status.rate(since: earlier, seconds: seconds)
        }
        return report
      }
    }
    return all ? reports : reports.filter { $0.outcome == nil }
  }

  /// The transfers that are not over, as the pieces of JSON; nil where some of them run, which have to be looked at twice.
  func json(records: RecordStore) async throws -> [ArraySlice<UInt8>]? {
    var list = TransferListJSON()
    var someRun = false
    do {
      try await eachPageOfAll { page in
        someRun = someRun || page.contains { $0.state == .running }
        guard !someRun else { return false }
        list.add(page.map { TransferReport($0, in: records) }.filter { $0.outcome == nil })
        return true
      }
    } catch {
      list.cancel()
      throw CommandFailure.service(error)
    }
    guard !someRun else {
      list.cancel()
      return nil
    }
    return try await list.pieces()
  }
}
