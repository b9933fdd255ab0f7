package struct Attach: Codable, Sendable, Equatable {
  /// In bytes.
  package static let maximumIdentifierLength = 1024

  /// The identifier of the background configuration, unique within the app.
  package var session: String
  package var options: SessionOptions

  package init(session: String, options: SessionOptions = SessionOptions()) {
    self.session = session
    self.options = options
  }
}
