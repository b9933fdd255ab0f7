package struct ListTransfers: Codable, Sendable, Equatable {
  /// Only transfers with a larger number; 0 for the first page.
  package var after: Int64
  /// Whether transfers that are over are wanted too.
  package var includesFinished: Bool

  /// Whether those of every app of the user are wanted, which only the user's own tool may ask for. nil: those of the app.
  package var ofEveryApp: Bool?

  package init(after: Int64 = 0, includesFinished: Bool = true, ofEveryApp: Bool? = nil) {
    self.after = after
    self.includesFinished = includesFinished
    self.ofEveryApp = ofEveryApp
  }
}
