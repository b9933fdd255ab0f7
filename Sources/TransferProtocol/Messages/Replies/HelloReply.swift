package struct HelloReply: Codable, Sendable, Equatable {
  /// The version that both sides speak from now on.
  package var version: Int
  package var service: ServiceVersion

  package init(version: Int, service: ServiceVersion) {
    self.version = version
    self.service = service
  }
}
