/// Some of an app's transfers, by growing number.
package struct TransferPage: Codable, Sendable, Equatable {
  package var transfers: [TransferStatus]
  /// The value of `after` for the next page; nil when this is the last one.
  package var next: Int64?
  /// The limits of all transfers of the user together; nil where there are none, or the service does not say.
  package var limits: [BandwidthLimit]?

  package init(transfers: [TransferStatus] = [], next: Int64? = nil, limits: [BandwidthLimit]? = nil) {
    self.transfers = transfers
    self.next = next
    self.limits = limits
  }
}
