package struct TransferReference: Codable, Sendable, Equatable {
  package var transfer: Int64

  package init(transfer: Int64) { self.transfer = transfer }
}
