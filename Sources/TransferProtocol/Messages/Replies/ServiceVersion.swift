package struct ServiceVersion: Codable, Sendable, Equatable {
  /// The version of the program.
  package var program: String
  package var versions: ProtocolVersions
  package var processIdentifier: Int32

  package init(program: String, versions: ProtocolVersions = .ofService, processIdentifier: Int32) {
    self.program = program
    self.versions = versions
    self.processIdentifier = processIdentifier
  }
}
