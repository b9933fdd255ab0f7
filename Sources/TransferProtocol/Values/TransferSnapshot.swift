/// A task in full: as the app described it and as it stands.
package struct TransferSnapshot: Codable, Sendable, Equatable {
  package var description: TransferDescription
  package var status: TransferStatus
  package var response: ResponseSummary?

  package init(description: TransferDescription, status: TransferStatus, response: ResponseSummary? = nil) {
    self.description = description
    self.status = status
    self.response = response
  }
}
