/// One entry of a session's event log.
package struct SequencedEvent: Codable, Sendable, Equatable {
  package var session: String
  /// Grows by one with each event of the session.
  package var sequence: Int64
  package var taskIdentifier: Int
  package var event: TransferEvent

  package init(session: String, sequence: Int64, taskIdentifier: Int, event: TransferEvent) {
    self.session = session
    self.sequence = sequence
    self.taskIdentifier = taskIdentifier
    self.event = event
  }
}
