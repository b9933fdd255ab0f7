package struct Acknowledge: Codable, Sendable, Equatable {
  package var session: String
  /// Numbers of events, in any order.
  package var sequences: [Int64]

  package init(session: String, sequences: [Int64]) {
    self.session = session
    self.sequences = sequences
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    session = try container.decode(String.self, forKey: .session)
    sequences = try container.decodeList(of: Int64.self, forKey: .sequences)
  }
}
