package struct Attach: Codable, Sendable, Equatable {
  /// In bytes.
  package static let maximumIdentifierLength = 1024

  /// The identifier of the background configuration, unique within the app.
  package var session: String
  package var options: SessionOptions
  /// Whether the service started the program, or a process that it is a fork of, to handle events; nil from an older library.
  package var isOfLaunch: Bool?
  /// Whether the library answers a `DelayedRequestQuestion`; nil from an older one, which is asked none.
  package var answersDelayedRequests: Bool?

  package init(
    session: String, options: SessionOptions = SessionOptions(), isOfLaunch: Bool? = nil,
    answersDelayedRequests: Bool? = nil
  ) {
    self.session = session
    self.options = options
    self.isOfLaunch = isOfLaunch
    self.answersDelayedRequests = answersDelayedRequests
  }
}
