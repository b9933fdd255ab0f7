import ArgumentParser

/// The options about what is tried again.
struct RetryOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How often to try again after failures in a row, the answers 408, 429, 500, 502, 503 and 504 among them. Without it: "
        + "until the time is over, and such answers count.", valueName: "count"))
  var retries: Int?

  @Option(
    help: ArgumentHelp(
      "Wait so long before the first try after a failure; twice as long before the next.", valueName: "seconds"))
  var retryDelay: Double?

  func validate() throws {
    if let retries, !(0...1_000_000).contains(retries) {
      throw ValidationError("--retries is 0 or more")
    }
    if let retryDelay, !(0...86_400).contains(retryDelay) {
      throw ValidationError("--retry-delay is from 0 to 86400 seconds")
    }
  }

  /// nil: as the transfer service does by itself.
  var choice: RetryChoice? { RetryChoice(retries: retries, delay: retryDelay) }
}
