/// Some of an app's transfers, by growing number.
package struct TransferPage: Codable, Sendable, Equatable {
  package var transfers: [TransferStatus]
  /// The value of `after` for the next page; nil when this is the last one.
  package var next: Int64?

  package init(transfers: [TransferStatus] = [], next: Int64? = nil) {
    self.transfers = transfers
    self.next = next
  }
}
