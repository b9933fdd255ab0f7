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
    let service = try await ServiceConnection.openIfRunning()
    defer { service?.close() }
    let store = try RecordStore.usual()
    var report: TransferReport?
    do {
      if let status = try await service?.transfer(id)?.status {
        report = TransferReport(status, record: store.read(status.session))
      }
    } catch { throw CommandFailure.service(error) }
    report = report ?? store.all().first { $0.transfer == id }.flatMap(TransferReport.init)
    guard let report else { throw CommandFailure.unknown(transfers: [id]) }
    if json { return try JSONOutput.print(report) }
    for line in TransferSheet.lines(report) { StandardOutput.print(line) }
  }
}
