import ArgumentParser
import Foundation
import TransferProtocol
import URLLoadingSystem

/// `urlsession limit`
struct LimitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "limit", abstract: "Limit how fast transfers in the background receive.",
    usage:
      "urlsession limit <id> | --session <identifier> | --program | --all  <rate> | none  [--between <hours>] [-q]",
    discussion: """
      The limit counts at once, also for transfers that run, and stays until it is changed. Transfers under one limit share \
      it; of several limits the lowest counts. A limit for hours takes the place of the one without in these hours. `none` \
      removes all limits; `none --between` lifts them in these hours.
      """)

  @Argument(
    help: ArgumentHelp(
      "The number of a transfer, where none of the options is given; then the rate.", valueName: "id-and-rate"))
  var values: [String]
  @Option(help: ArgumentHelp("All transfers of this session.", valueName: "identifier")) var session: String?
  @Flag(help: "All transfers of this program.") var program = false
  @Flag(help: "All transfers of the user, those of other programs too.") var all = false
  @Option(
    help: ArgumentHelp("Only in these hours of each day, as 08:00-18:00 by local time.", valueName: "hours"),
    transform: HoursArgument.parse)
  var between: DailyHours?
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func validate() throws { _ = try parsed() }

  private func parsed() throws -> LimitTransfers {
    let options = [session != nil, program, all].count { $0 }
    guard options <= 1 else { throw ValidationError("Give one of --session, --program and --all.") }
    guard values.count == (options == 0 ? 2 : 1), let rate = values.last else {
      throw ValidationError(
        options == 0
          ? "Give a transfer's number, --session, --program or --all, and behind it a rate or none."
          : "Give a rate or none, and nothing else.")
    }
    return LimitTransfers(
      subject: try subject(), limit: BandwidthLimit(bytesPerSecond: try RateArgument.parse(rate), hours: between))
  }

  private func subject() throws -> LimitTransfers.Subject {
    if let session { return .session(session) }
    if program { return .app }
    if all { return .service }
    guard let text = values.first, let id = Int64(text), id > 0 else {
      throw ValidationError("\(values.first ?? "") is no number of a transfer.")
    }
    return .transfer(id)
  }

  func run() async throws {
    let request = try parsed()
    do {
      let service = try await ServiceConnection.open()
      defer { service.close() }
      _ = try await service.request(.limit(request))
    } catch let refusal as Refusal where refusal.reason == .unknownTask {
      if case .transfer(let id) = request.subject { throw CommandFailure.unknown(transfers: [id]) }
      throw CommandFailure(
        .unknownTransfer, refusal.message, advice: "`urlsession show` names the session of a transfer")
    } catch { throw CommandFailure.service(error) }
    if !quiet { StandardOutput.print("\(name(of: request.subject)): \(LimitText.text(request.limit))") }
  }

  private func name(of subject: LimitTransfers.Subject) -> String {
    switch subject {
    case .transfer(let id): "Transfer \(id)"
    case .session(let identifier): "Session \(identifier)"
    case .app: "Transfers of this program"
    case .service: "All transfers"
    }
  }
}
