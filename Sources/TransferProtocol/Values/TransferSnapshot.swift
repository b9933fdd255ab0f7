/// A task in full: as the app described it and as it stands.
package struct TransferSnapshot: Codable, Sendable, Equatable {
  package var description: TransferDescription
  package var status: TransferStatus
  package var response: ResponseSummary?
  /// The latest tries, oldest first, as far as the service remembers them; nil from older services.
  package var tries: [TransferTry]?

  package init(description: TransferDescription, status: TransferStatus, response: ResponseSummary? = nil) {
    self.description = description
    self.status = status
    self.response = response
  }
}
