import Testing
import TransferProtocol

@testable import TransferService

struct ReadEventsTests {
  private static func event(_ sequence: Int64) -> StoredEvent {
    StoredEvent(
      sequence: sequence, transfer: 1, taskIdentifier: 1, kind: .completed,
      completion: Completion(failure: nil, response: nil, countOfBytesReceived: 0, countOfBytesExpectedToReceive: 0))
  }

  /// The numbers of the events that need not be read; nil where they have to be.
  private static func following(_ last: Int64, limit: Int = 10, in events: ReadEvents) -> [Int64]? {
    events.following(last, limit: limit).map { $0.map(\.sequence) }
  }

  @Test func eventsThatWereNotSentAreNotReadAgain() {
    var events = ReadEvents()
    #expect(Self.following(0, in: events) == nil)
    events.read([2, 5, 6].map(Self.event), after: 1)
    #expect(Self.following(1, in: events) == [2, 5, 6])
    #expect(Self.following(1, limit: 2, in: events) == [2, 5])
    events.sentFirst()
    #expect(Self.following(2, in: events) == [5, 6])
    events.sentFirst()
    events.sentFirst()
    #expect(Self.following(6, in: events) == nil)
    events.sentFirst()
    #expect(Self.following(6, in: events) == nil)
  }

  /// The first event of a download is looked at twice, and the second has the same answer.
  @Test func anAnswerIsOpenedOnce() {
    var events = ReadEvents()
    let opened = Completion(failure: nil, response: nil, countOfBytesReceived: 7, countOfBytesExpectedToReceive: 7)
    #expect(events.opened(Self.event(1)) == nil)
    events.opened(Self.event(1), as: opened)
    #expect(events.opened(Self.event(1)) == opened && events.opened(Self.event(2)) == opened)
    var other = Self.event(1)
    other.transfer = 2
    #expect(events.opened(other) == nil)
    other = Self.event(1)
    other.completion.failure = TransferFailure(domain: "a", code: 1, message: "lost")
    #expect(events.opened(other) == nil, "the queue says something else by now")
    events.removed([1])
    events.read([Self.event(1)], after: 0)
    events.removed([1])
    #expect(events.opened(Self.event(1)) == nil)
  }

  @Test func anotherHolderGetsThemFromTheBeginning() {
    var events = ReadEvents()
    events.read([2, 3].map(Self.event), after: 1)
    #expect(Self.following(0, in: events) == nil)
    events.read([1, 2, 3].map(Self.event), after: 0)
    #expect(Self.following(0, in: events) == [1, 2, 3])
  }

  @Test(arguments: [([1], true), ([1, 2], true), ([3], false), ([2, 4], false), ([], true)] as [([Int64], Bool)])
  func eventsThatHaveGoneAreReadAgain(removed: [Int64], isKept: Bool) {
    var events = ReadEvents()
    events.read([2, 3, 4].map(Self.event), after: 1)
    events.sentFirst()
    events.removed(removed)
    #expect(Self.following(2, in: events) == (isKept ? [3, 4] : nil))
  }
}
