package struct ListTransfers: Codable, Sendable, Equatable {
  /// Only transfers with a larger number; 0 for the first page.
  package var after: Int64
  /// Whether transfers that are over are wanted too.
  package var includesFinished: Bool

  package init(after: Int64 = 0, includesFinished: Bool = true) {
    self.after = after
    self.includesFinished = includesFinished
  }
}
