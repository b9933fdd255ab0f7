import ArgumentParser
import Foundation
import URLLoadingSystem

/// The options about when a background transfer runs, over which networks, and how fast.
struct ConditionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Receive and send no faster than this, in bytes per second, as 500K or 1.5MiB.", valueName: "rate"),
    transform: ConditionOptions.rate)
  var limit: Int64?

  @Option(
    help: ArgumentHelp(
      "Do not begin before this: 90s, 1h30m or 2d from now, 22:00, 2026-12-24 or 2026-12-24T08:00.", valueName: "time"))
  var notBefore: BeginArgument?

  @Flag(help: "Let it wait for power, an idle machine and a network that costs nothing.") var discretionary = false

  @Flag(name: .customLong("yield"), help: "Begin at once, and let other traffic on the network go first.")
  var yields = false

  @Flag(inversion: .prefixedNo, help: "Use networks of mobile operators. Default: yes.") var cellular: Bool?
  @Flag(inversion: .prefixedNo, help: "Use networks that cost money by the byte. Default: yes.") var expensive: Bool?
  @Flag(inversion: .prefixedNo, help: "Use networks on which data is to be saved. Default: yes.") var constrained: Bool?

  private static func rate(_ text: String) throws -> Int64 {
    guard let rate = try RateArgument.parse(text) else { throw ValidationError("Leave --limit out for no limit.") }
    return rate
  }

  /// Whether there is an option that the transfer service alone follows.
  var areOfService: Bool { limit != nil || notBefore != nil || discretionary || yields }

  func apply(to request: inout URLRequest) {
    if yields { request.networkServiceType = .background }
    if let cellular { request.allowsCellularAccess = cellular }
    if let expensive { request.allowsExpensiveNetworkAccess = expensive }
    if let constrained { request.allowsConstrainedNetworkAccess = constrained }
  }

  func apply(to task: URLSessionTask, now: Date = Date()) {
    task.transferBandwidthLimit = limit
    if let notBefore { task.earliestBeginDate = notBefore.date(after: now) }
  }
}
