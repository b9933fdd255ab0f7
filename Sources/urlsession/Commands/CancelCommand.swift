import ArgumentParser
import Foundation
import TransferProtocol
import URLLoadingSystem

/// `urlsession cancel`
struct CancelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancel transfers; what they have received so far is thrown away.",
    usage: "urlsession cancel <id> ... | --app <path> | --all  [-q]",
    discussion: """
      With --app all transfers of an app end at once, and the app is told that its user cancelled them. Transfers that it begins \
      later are transferred as before.
      """)

  @OptionGroup var choice: TransferChoice
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func run() async throws {
    try await TendedTransfers(choice.selection, isQuiet: quiet).each(over: "already over") { status, service in
      _ = try await service.request(.cancelTransfer(TransferReference(transfer: status.transfer)))
      return "cancelled"
    }
  }
}
