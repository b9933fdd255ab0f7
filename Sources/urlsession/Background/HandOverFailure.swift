/// Why a command does not know that the transfer service has a transfer.
enum HandOverFailure: Error, Sendable, Equatable {
  /// The service does not have it.
  case notQueued(CommandFailure)
  /// The service may have it: it was handed over, and the service could not be asked.
  case perhapsQueued(CommandFailure)

  var failure: CommandFailure {
    switch self {
    case .notQueued(let failure): failure
    case .perhapsQueued(let cause):
      CommandFailure(
        cause.status, "it is not known whether the transfer service has the transfer: \(cause.what)",
        advice: "see `urlsession list --all`")
    }
  }

  /// The failure of the service itself.
  var cause: CommandFailure {
    switch self {
    case .notQueued(let cause), .perhapsQueued(let cause): cause
    }
  }

  /// The line about one of several URLs.
  func line(of url: String) -> String {
    switch self {
    case .notQueued(let failure): "Not queued: \(url): \(failure.what)"
    case .perhapsQueued(let cause): "Perhaps queued: \(url): \(cause.what)"
    }
  }
}
