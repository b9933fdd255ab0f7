import ArgumentParser
import Foundation

/// `urlsession why`
struct WhyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "why", abstract: "Say in a sentence what a transfer does, or why it waits and until when.")

  @Argument(help: ArgumentHelp("The transfer's number.", valueName: "id")) var id: Int64

  func run() async throws { StandardOutput.print(WhyText.sentence(try await TransferReport.load(id))) }
}
