package struct Watch: Codable, Sendable, Equatable {
  /// The numbers to watch; nil means every transfer of this app, also those to come.
  package var transfers: [Int64]?

  package init(transfers: [Int64]? = nil) { self.transfers = transfers }
}
