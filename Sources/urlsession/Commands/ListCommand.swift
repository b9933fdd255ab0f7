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
        guard let report = try await TransferReport.load(record, from: service, in: store) else { continue }
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

extension ServiceRequests {
  func reports(records: RecordStore, all: Bool) async throws -> [TransferReport] {
    let reports = try await allTransfers().map { TransferReport($0, in: records) }
    return all ? reports : reports.filter { $0.outcome == nil }
  }

  /// The transfers that are not over, as the pieces of JSON.
  func json(records: RecordStore) async throws -> [ArraySlice<UInt8>] {
    var list = TransferListJSON()
    do {
      try await eachPageOfAll { page in
        list.add(page.map { TransferReport($0, in: records) }.filter { $0.outcome == nil })
        return true
      }
    } catch {
      list.cancel()
      throw CommandFailure.service(error)
    }
    return try await list.pieces()
  }
}
