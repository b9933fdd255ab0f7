import ArgumentParser
import CommandLineOutput
import Foundation
import TransferProtocol
import URLLoadingSystem

/// `urlsession limit`
struct LimitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "limit", abstract: "Limit how fast transfers in the background receive and send.",
    usage:
      "urlsession limit <id> | [--app <path>] --session <identifier> | --app <path> | --program | --all  <rate> | none  [--between <hours>] [-q]",
    discussion: """
      The limit counts at once, also for transfers that run, and stays until it is changed. Transfers under one limit share \
      it; of several limits the lowest counts. A limit for hours takes the place of the one without in these hours. `none` \
      removes all that were set for it; `none --between` lifts them in these hours.
      """)

  @Argument(
    help: ArgumentHelp(
      "The number of a transfer, where none of the options is given; then the rate.", valueName: "id-and-rate"))
  var values: [String]
  @Option(
    help: ArgumentHelp("All transfers of this session, of --app or else of this program.", valueName: "identifier"))
  var session: String?
  @Option(
    help: ArgumentHelp("All transfers of the app with this program.", valueName: AppArgument.valueName),
    completion: .file())
  var app: AppArgument?
  @Flag(help: "All transfers of this program.") var program = false
  @Flag(help: "All transfers of the user, those of other programs too.") var all = false
  @Option(
    help: ArgumentHelp("Only in these hours of each day, as 08:00-18:00 by local time.", valueName: "hours"),
    transform: HoursArgument.parse)
  var between: DailyHours?
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func validate() throws { _ = try parsed() }

  /// One of the requests by which limits are set.
  private enum Order {
    case transfers(LimitTransfers)
    case app(LimitApp)

    var request: ClientRequest {
      switch self {
      case .transfers(let body): .limit(body)
      case .app(let body): .limitApp(body)
      }
    }
  }

  private func parsed() throws -> Order {
    // --session may stand beside --app.
    let options = [session != nil || app != nil, program, all].count { $0 }
    guard options <= 1 else {
      throw ValidationError("Give one of --session, --app, --program and --all; --session may stand beside --app.")
    }
    guard values.count == (options == 0 ? 2 : 1), let rate = values.last else {
      throw ValidationError(
        options == 0
          ? "Give a transfer's number, --session, --app, --program or --all, and behind it a rate or none."
          : "Give a rate or none, and nothing else.")
    }
    let limit = BandwidthLimit(bytesPerSecond: try RateArgument.parse(rate), hours: between)
    if let app, app.path != OwnProgram.path {
      return .app(LimitApp(app: app.path, session: session, limit: limit))
    }
    return .transfers(LimitTransfers(subject: try subject(), limit: limit))
  }

  private func subject() throws -> LimitTransfers.Subject {
    if let session { return .session(session) }
    if program || app != nil { return .app }
    if all { return .service }
    guard let text = values.first, let id = Int64(text), id > 0 else {
      throw ValidationError("\(values.first ?? "") is no number of a transfer.")
    }
    return .transfer(id)
  }

  func run() async throws {
    let order = try parsed()
    var others: [TransferLimit] = []
    do {
      let service = try await PatientConnection.open()
      defer { service.close() }
      _ = try await service.request(order.request)
      if !quiet { others = try await otherLimits(order, service) }
    } catch let refusal as Refusal {
      throw failure(refusal, of: order)
    } catch { throw CommandFailure.service(error) }
    guard !quiet else { return }
    switch order {
    case .transfers(let request):
      let rest = others.isEmpty ? "" : ", but others hold: \(LimitText.text(others))"
      StandardOutput.print("\(name(of: request.subject)): \(LimitText.text(request.limit))\(rest)")
    case .app(let request):
      let name = request.session.map { "Session \($0) of \(request.app)" } ?? "Transfers of \(request.app)"
      StandardOutput.print("\(TextTable.printable(name)): \(LimitText.text(request.limit))")
    }
  }

  /// Those that hold for a transfer after its own are removed: the one that it began with, and those of its session, its program
  /// and all.
  private func otherLimits(_ order: Order, _ service: PatientConnection) async throws -> [TransferLimit] {
    guard case .transfers(let request) = order, case .transfer(let id) = request.subject,
      request.limit == BandwidthLimit(bytesPerSecond: nil)
    else { return [] }
    return try await service.transfer(id)?.status.limits ?? []
  }

  private func failure(_ refusal: Refusal, of order: Order) -> CommandFailure {
    switch (refusal.reason, order) {
    case (.unknownTask, .transfers(let request)):
      if case .transfer(let id) = request.subject { return .unknown(transfers: [id]) }
      return CommandFailure(
        .unknownTransfer, refusal.message,
        advice: "`urlsession show` names the session of a transfer; --app names the app of a session")
    case (.unknownTask, .app):
      return CommandFailure(
        .unknownTransfer, refusal.message, advice: "`urlsession show` names the app and the session of a transfer")
    case (.unsupported, .app):
      return CommandFailure(
        .serviceUnavailable, "the transfer service that runs is older, and can't limit the transfers of another app",
        advice: "update urlsessiond and end the one that runs")
    default: return .service(refusal)
    }
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
