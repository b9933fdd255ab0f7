import Testing

@testable import URLLoadingSystem

/// Many tasks that are cancelled within a moment.
extension OutboxTests {
  /// Attached to a service that has tasks 1 … `count`.
  private func withTasks(_ count: Int) -> Outbox {
    var outbox = Outbox(maximumCount: count, maximumWeight: count)
    for task in 1...count { _ = outbox.add(task, Self.wanted(), weight: 1) }
    let known = Dictionary(uniqueKeysWithValues: (1...count).map { ($0, Self.known()) })
    #expect(outbox.attached(known).isEmpty && outbox.deliveryStarted().isEmpty)
    return outbox
  }

  private func cancel(_ tasks: ClosedRange<Int>, _ outbox: inout Outbox) -> [Outbox.Action] {
    tasks.flatMap { outbox.change($0, Self.wanted(cancel: .plain)) }
  }

  @Test func tasksThatAreCancelledTogetherAreOneMessage() {
    var outbox = withTasks(5)
    #expect(cancel(1...4, &outbox) == [.gatherCancellations])
    #expect(outbox.cancellationsGathered() == [.cancel([1, 2, 3, 4])])
    #expect(outbox.cancellationEnded([1, 2, 3, 4], .accepted).isEmpty)
    #expect(cancel(5...5, &outbox) == [.gatherCancellations])
    #expect(outbox.cancellationsGathered() == [.send(.cancel(producingResumePoint: false), task: 5)])
  }

  @Test func fewMessagesAreUnderWay() {
    let (length, groups) = (GatheredCancellations.groupLength, GatheredCancellations.maximumGroups)
    let count = length * (groups + 1)
    var outbox = withTasks(count)
    _ = cancel(1...count, &outbox)
    let sent = outbox.cancellationsGathered()
    #expect(sent == (0..<groups).map { .cancel(Array($0 * length + 1...($0 + 1) * length)) })
    #expect(outbox.cancellationsGathered().isEmpty)
    let next = outbox.cancellationEnded(Array(1...length), .accepted)
    #expect(next == [.cancel(Array(groups * length + 1...count))])
  }

  @Test func aServiceThatDoesNotKnowTheMessageIsToldOneByOne() {
    var outbox = withTasks(3)
    _ = cancel(1...2, &outbox)
    #expect(outbox.cancellationsGathered() == [.cancel([1, 2])])
    let single = [1, 2].map { Outbox.Action.send(.cancel(producingResumePoint: false), task: $0) }
    #expect(outbox.cancellationEnded([1, 2], .refused("unknown")) == single)
    #expect(cancel(3...3, &outbox) == [.send(.cancel(producingResumePoint: false), task: 3)])
    // The next connection may be to another service.
    outbox.detached()
    let known = Dictionary(uniqueKeysWithValues: (1...3).map { ($0, Self.known()) })
    #expect(outbox.attached(known) == [.gatherCancellations])
    #expect(outbox.cancellationsGathered() == [.cancel([1, 2, 3])])
  }

  @Test func refusedForNowIsToldAgain() {
    var outbox = withTasks(2)
    _ = cancel(1...2, &outbox)
    _ = outbox.cancellationsGathered()
    #expect(outbox.cancellationEnded([1, 2], .refusedForNow) == [.pause])
    #expect(outbox.pauseEnded() == [.gatherCancellations])
    #expect(outbox.cancellationsGathered() == [.cancel([1, 2])])
  }

  @Test func endedTasksAreNotCancelled() {
    var outbox = withTasks(3)
    _ = cancel(1...3, &outbox)
    _ = outbox.eventArrived(of: 1)
    _ = outbox.remove(2)
    #expect(outbox.cancellationsGathered() == [.send(.cancel(producingResumePoint: false), task: 3)])
  }
}
