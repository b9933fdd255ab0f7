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

  /// The event without what an app can do without: first its transactions, then the fields of its response; nil where both
  /// are left out already.
  package var shortened: SequencedEvent? {
    var shorter = self
    switch event {
    case .completed(var completion):
      if completion.transactions != nil {
        completion.transactions = nil
      } else if completion.response?.headers.isEmpty == false {
        completion.response?.headers = []
      } else {
        return nil
      }
      shorter.event = .completed(completion)
    case .finishedDownloading(var download):
      guard download.response?.headers.isEmpty == false else { return nil }
      download.response?.headers = []
      shorter.event = .finishedDownloading(download)
    case .other: return nil
    }
    return shorter
  }
}
