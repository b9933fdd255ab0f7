package struct CreatedTasks: Codable, Sendable, Equatable {
  /// The service's number of each task, in the order of the request.
  package var transfers: [Int64]

  package init(transfers: [Int64]) { self.transfers = transfers }
}
