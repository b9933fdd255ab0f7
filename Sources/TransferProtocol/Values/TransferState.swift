package enum TransferState: RawRepresentable, Codable, Sendable, Hashable {
  /// Held back by the app.
  case suspended
  /// Ready; `waiting` says what it waits for.
  case waiting
  case running
  /// Over; `failure` says whether it succeeded.
  case completed
  /// A state of a newer service, with its name in messages. The transfer is not over.
  case other(String)

  package init(rawValue: String) {
    self =
      switch rawValue {
      case "suspended": .suspended
      case "waiting": .waiting
      case "running": .running
      case "completed": .completed
      default: .other(rawValue)
      }
  }

  package var rawValue: String {
    switch self {
    case .suspended: "suspended"
    case .waiting: "waiting"
    case .running: "running"
    case .completed: "completed"
    case .other(let name): name
    }
  }
}
