import ArgumentParser
import Foundation
import TransferProtocol
import URLLoadingSystem

/// `urlsession show`
struct ShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Tell everything about a transfer: why it waits, when it is tried next, what failed."
  )

  @Argument(help: ArgumentHelp("The transfer's number.", valueName: "id")) var id: Int64
  @Flag(help: "Print it in JSON.") var json = false

  func run() async throws {
    let (report, tries) = try await TransferReport.loadWithTries(id)
    if json { return try JSONOutput.print(ShownTransfer(report, tries)) }
    for line in TransferSheet.lines(report, tries: tries) { StandardOutput.print(line) }
  }
}

extension TransferReport {
  /// As the service has it, where one runs, or this program's own record.
  ///
  /// - Throws: `CommandFailure` when there is no such transfer.
  static func load(_ id: Int64) async throws -> TransferReport { try await loadWithTries(id).report }

  /// The same with the tries that the service remembers.
  static func loadWithTries(_ id: Int64) async throws -> (report: TransferReport, tries: [TransferTry]) {
    let service = try await PatientConnection.openIfRunning()
    defer { service?.close() }
    let store = try RecordStore.usual()
    do {
      if let snapshot = try await service?.transfer(id) {
        return (TransferReport(snapshot.status, in: store), snapshot.tries ?? [])
      }
    } catch { throw CommandFailure.service(error) }
    guard let record = store.latest(id),
      let report = try await load(record, from: service, in: store)
    else { throw CommandFailure.unknown(transfers: [id]) }
    return (report, [])
  }

  /// That of a record, whose transfer the service has not named, where one runs.
  static func load(
    _ record: DownloadRecord, from service: (any ServiceRequests)?, in store: RecordStore
  ) async throws -> TransferReport? {
    guard let service else { return TransferReport(record)?.withoutService() }
    do {
      let report = try await service.report(of: record)
      if let report { store.note(report, of: record) }
      return report
    } catch { throw CommandFailure.service(error) }
  }

  /// The reason of a transfer that waits for a service.
  static let withoutServiceCode = "serviceNotRunning"

  /// The report as it is while no transfer service runs: a transfer that is not over waits for one, unless it would stand still with
  /// one, too.
  func withoutService() -> TransferReport {
    let standsStill = [TransferReport.pausedCode, TransferReport.setAsideCode].contains(waiting?.code)
    guard state == .waiting, !standsStill else { return self }
    var report = self
    report.waiting = WaitingStatus(
      code: TransferReport.withoutServiceCode,
      sentence: "The transfer service does not run; `urlsession wait \(transfer)` starts it.")
    return report
  }
}

/// A transfer with its tries.
struct ShownTransfer: Encodable, Sendable {
  private let report: TransferReport
  private let tries: TransferTriesReport

  init(_ report: TransferReport, _ tries: [TransferTry]) {
    (self.report, self.tries) = (report, TransferTriesReport(tries))
  }

  func encode(to encoder: any Encoder) throws {
    try report.encode(to: encoder)
    try tries.encode(to: encoder)
  }
}
