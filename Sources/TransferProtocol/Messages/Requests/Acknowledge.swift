package struct Acknowledge: Codable, Sendable, Equatable {
  package var session: String
  /// Numbers of events, in any order.
  package var sequences: [Int64]

  package init(session: String, sequences: [Int64]) {
    self.session = session
    self.sequences = sequences
  }
}
