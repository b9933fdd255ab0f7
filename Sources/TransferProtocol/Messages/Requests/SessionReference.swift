package struct SessionReference: Codable, Sendable, Equatable {
  package var session: String

  package init(session: String) { self.session = session }
}
