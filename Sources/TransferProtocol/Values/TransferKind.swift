package enum TransferKind: String, Codable, Sendable {
  case download
  case upload
}
