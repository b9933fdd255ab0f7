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
    let report = try await TransferReport.load(id)
    if json { return try JSONOutput.print(report) }
    for line in TransferSheet.lines(report) { StandardOutput.print(line) }
  }
}

extension TransferReport {
  /// As the service has it, where one runs, or this program's own record.
  ///
  /// - Throws: `CommandFailure` when there is no such transfer.
  static func load(_ id: Int64) async throws -> TransferReport {
    let service = try await ServiceConnection.openIfRunning()
    defer { service?.close() }
    let store = try RecordStore.usual()
    do {
      if let status = try await service?.transfer(id)?.status { return TransferReport(status, in: store) }
    } catch { throw CommandFailure.service(error) }
    guard let record = store.all().first(where: { $0.transfer == id }), let report = TransferReport(record) else {
      throw CommandFailure.unknown(transfers: [id])
    }
    return service == nil ? report.withoutService() : report
  }

  /// The report as it is while no transfer service runs: a transfer that is not over waits for one.
  func withoutService() -> TransferReport {
    guard state == .waiting else { return self }
    var report = self
    report.waiting = WaitingStatus(
      code: "serviceNotRunning",
      sentence: "The transfer service does not run; `urlsession wait \(transfer)` starts it.")
    return report
  }
}
