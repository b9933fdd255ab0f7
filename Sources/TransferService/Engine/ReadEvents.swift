import TransferProtocol

/// The events of one session that were read from the queue and not sent yet, since a file of theirs is still being made. They
/// are read and decoded once, not each time that one of them can go.
struct ReadEvents {
  /// The number of the event before the first of them, which was sent.
  private var last: Int64 = 0
  private var events: [StoredEvent] = []
  private var sentCount = 0
  /// The latest answer that was opened. A download has two events with the same one, and the first is looked at again once its
  /// file is there.
  private var openedAnswer: (transfer: TransferID, stored: Completion, open: Completion)?

  /// The answer of the event, where it was opened a moment ago.
  func opened(_ event: StoredEvent) -> Completion? {
    guard let openedAnswer, openedAnswer.transfer == event.transfer, openedAnswer.stored == event.completion else {
      return nil
    }
    return openedAnswer.open
  }

  mutating func opened(_ event: StoredEvent, as completion: Completion) {
    openedAnswer = (event.transfer, event.completion, completion)
  }

  /// The events after `last`, at most `limit`; nil where they have to be read.
  func following(_ last: Int64, limit: Int) -> ArraySlice<StoredEvent>? {
    guard last == self.last, sentCount < events.count else { return nil }
    return events[sentCount...].prefix(limit)
  }

  /// `events` are those of the queue after `last`.
  mutating func read(_ events: [StoredEvent], after last: Int64) {
    (self.events, self.last, sentCount) = (events, last, 0)
  }

  /// The first of them was sent.
  mutating func sentFirst() {
    guard sentCount < events.count else { return }
    last = events[sentCount].sequence
    sentCount += 1
    if sentCount == events.count { (events, sentCount) = ([], 0) }
  }

  /// Events went out of the queue. Those that were not sent are read again where they are among them.
  mutating func removed(_ sequences: [Int64]) {
    if sequences.contains(where: { $0 > last }) { self = ReadEvents() }
  }
}
