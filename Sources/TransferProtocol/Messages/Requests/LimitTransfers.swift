/// Sets how fast transfers of a subject may receive together, also those that run. Of several limits that hold for a
/// transfer the lowest counts.
package struct LimitTransfers: Codable, Sendable, Equatable {
  package enum Subject: Codable, Sendable, Equatable {
    case transfer(Int64)
    /// A session of the app, by its identifier.
    case session(String)
    /// All transfers of the app.
    case app
    /// All transfers of the user. Only the program `urlsession` that belongs to the service may set it.
    case service
  }

  package var subject: Subject
  /// Takes the place of the subject's limit for the same hours. One without a rate and without hours removes all limits of
  /// the subject.
  package var limit: BandwidthLimit

  package init(subject: Subject, limit: BandwidthLimit) { (self.subject, self.limit) = (subject, limit) }
}
