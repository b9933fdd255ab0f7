package enum TransferKind: RawRepresentable, Codable, Sendable, Hashable {
  case download
  case upload
  /// A kind of a newer program, with its name in messages.
  case other(String)

  package init(rawValue: String) {
    self =
      switch rawValue {
      case "download": .download
      case "upload": .upload
      default: .other(rawValue)
      }
  }

  package var rawValue: String {
    switch self {
    case .download: "download"
    case .upload: "upload"
    case .other(let name): name
    }
  }
}
