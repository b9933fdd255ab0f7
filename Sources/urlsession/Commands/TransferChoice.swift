import ArgumentParser
import TransferProtocol
import URLLoadingSystem

/// The transfers that a command is about: some by their numbers, those of an app, or all.
struct TransferChoice: ParsableArguments {
  @Argument(help: TransferNumbers.help) var ids: [Int64] = []

  @Flag(help: "All transfers that are not over, those of other programs too.") var all = false

  @Option(
    help: ArgumentHelp(
      "All transfers of the app with this program that are not over.", valueName: AppArgument.valueName),
    completion: .file())
  var app: AppArgument?

  func validate() throws {
    guard [!ids.isEmpty, all, app != nil].count(where: { $0 }) == 1 else {
      throw ValidationError("Give numbers of transfers, --app or --all, and one of these alone.")
    }
  }

  var selection: TendedTransfers.Selection {
    if let app { return .app(app.path) }
    return all ? .all : .numbers(ids)
  }
}
