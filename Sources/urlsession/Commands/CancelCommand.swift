import ArgumentParser
import Foundation
import TransferProtocol
import URLLoadingSystem

/// `urlsession cancel`
struct CancelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancel transfers; what they have received so far is thrown away.")

  @Argument(help: TransferNumbers.help) var ids: [Int64]
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func run() async throws {
    try await TendedTransfers(ids: ids, isQuiet: quiet).each(over: "already over") { status, service in
      _ = try await service.request(.cancelTransfer(TransferReference(transfer: status.transfer)))
      return "cancelled"
    }
  }
}
