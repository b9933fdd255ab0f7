package struct Hello: Codable, Sendable, Equatable {
  package var versions: ProtocolVersions
  /// The library and its version, for the service's log.
  package var client: String

  package init(versions: ProtocolVersions = .ofApp, client: String) {
    self.versions = versions
    self.client = client
  }
}
