import ArgumentParser

/// `urlsession wait`
struct WaitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wait",
    abstract: "Follow transfers until they are over and their files in place.",
    discussion: "Ends with the code of the first transfer, in the order given, that did not succeed.")

  @Argument(help: TransferNumbers.help) var ids: [Int64]
  @Flag(help: "Print the transfers in JSON when they are over.") var json = false
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func run() async throws {
    try await TransferWaiting(transfers: ids, isQuiet: quiet, prints: json ? .list : .lines).run()
  }
}
