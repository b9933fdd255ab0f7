import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct InboxTests {
  private func attached() -> Inbox {
    var inbox = Inbox()
    #expect(inbox.attached(willFinish: false).isEmpty)
    return inbox
  }

  @Test func anEventIsDeliveredOnceAndAcknowledgedWhenItIsHandled() {
    var inbox = attached()
    #expect(inbox.received(1, task: 7, isKnown: true) == .deliver)
    #expect(inbox.received(1, task: 7, isKnown: true) == .nothing)
    #expect(inbox.hasEvents(of: 7) && !inbox.hasEvents(of: 8))
    #expect(inbox.handled([1]) == .acknowledge([1]))
    #expect(inbox.received(1, task: 7, isKnown: true) == .nothing)
    #expect(inbox.acknowledged([1]) == .nothing)
    #expect(!inbox.hasEvents(of: 7))
  }

  @Test func anEventOfAnUnknownTaskStaysWithTheService() {
    var inbox = attached()
    #expect(inbox.received(1, task: 7, isKnown: false) == .keep([1]))
    #expect(inbox.received(1, task: 7, isKnown: true) == .deliver)
  }

  /// A queue that was lost is made again: the events that it has of a task have other numbers then.
  @Test func eventsThatAreMadeAnewAreAcknowledgedLikeThoseBefore() {
    var inbox = attached()
    #expect(inbox.received(1, task: 7, isKnown: true) == .deliver)
    #expect(inbox.received(2, task: 8, isKnown: true) == .deliver)
    #expect(inbox.handled([1]) == .acknowledge([1]))
    inbox.detached()
    for task in 7...9 { #expect(inbox.wasTold(of: task) == (task < 9)) }
    #expect(inbox.attached(willFinish: false) == [.acknowledge([1])])
    #expect(inbox.acknowledged([1]) == .nothing)
    // The calls of the first have returned, those of the second have not.
    #expect(inbox.received(1001, task: 7, isKnown: false) == .acknowledge([1001]))
    #expect(inbox.received(1002, task: 8, isKnown: false) == .nothing)
    #expect(inbox.received(1003, task: 9, isKnown: false) == .keep([1003]))
    #expect(inbox.acknowledged([1001]) == .nothing)
    #expect(inbox.handled([2]) == .acknowledge([2, 1002]))
    #expect(inbox.acknowledged([2, 1002]) == .nothing)
    #expect(!inbox.hasEvents(of: 7) && !inbox.hasEvents(of: 8))
    // Also over a later connection.
    inbox.detached()
    #expect(inbox.wasTold(of: 7) == true)
    #expect(inbox.attached(willFinish: false).isEmpty)
    #expect(inbox.received(2001, task: 7, isKnown: false) == .acknowledge([2001]))
  }

  /// Else a process that lives for long would keep every task that was over when it lost its connection.
  @Test func tasksThatTheServiceListsNoMoreAreForgotten() {
    var inbox = attached()
    for task in 7...8 { #expect(inbox.received(Int64(task), task: task, isKnown: true) == .deliver) }
    #expect(inbox.handled([7]) == .acknowledge([7]))
    inbox.detached()
    for task in 7...8 { #expect(inbox.wasTold(of: task) == true) }
    inbox.listed(all: [7, 8])
    #expect(inbox.attached(willFinish: false) == [.acknowledge([7])])
    #expect(inbox.acknowledged([7]) == .nothing)
    inbox.detached()
    inbox.listed(all: [])
    #expect(inbox.attached(willFinish: false).isEmpty)
    #expect(inbox.wasTold(of: 7) == false)
    #expect(inbox.received(1007, task: 7, isKnown: false) == .keep([1007]))
    #expect(inbox.received(1008, task: 8, isKnown: false) == .nothing, "the app has not returned from its call yet")
  }

  @Test func eventsThatAreMadeAnewWithoutADelegateAreLeftToTheService() {
    var inbox = attached()
    #expect(inbox.received(1, task: 7, isKnown: true) == .deliver)
    inbox.detached()
    #expect(inbox.wasTold(of: 7) == true)
    #expect(inbox.attached(willFinish: false).isEmpty)
    #expect(inbox.received(1001, task: 7, isKnown: false) == .nothing)
    #expect(!inbox.isLeft(7))
    #expect(inbox.leave([1]) == .keep([1, 1001]))
    #expect(inbox.isLeft(7) && !inbox.isLeft(8))
    #expect(inbox.received(2001, task: 7, isKnown: false) == .keep([2001]))
  }

  @Test func eventsWithoutADelegateAreLeftToTheServiceOverEachConnection() {
    var inbox = attached()
    for sequence: Int64 in 1...2 { _ = inbox.received(sequence, task: 7, isKnown: true) }
    #expect(inbox.leave([1, 2]) == .keep([1, 2]))
    #expect(inbox.leave([]) == .nothing)
    inbox.detached()
    #expect(inbox.leave([1]) == .nothing)
    #expect(inbox.attached(willFinish: false).isEmpty, "they are not acknowledged")
    #expect(inbox.hasEvents(of: 7))
    #expect(inbox.received(1, task: 7, isKnown: false) == .keep([1]))
  }

  @Test func anAcknowledgementThatWasNotConfirmedIsSentOverTheNextConnection() {
    var inbox = attached()
    for sequence: Int64 in 1...3 { _ = inbox.received(sequence, task: 7, isKnown: true) }
    #expect(inbox.handled([1]) == .acknowledge([1]))
    inbox.detached()
    #expect(inbox.handled([2]) == .nothing)
    #expect(inbox.attached(willFinish: true) == [.acknowledge([1, 2])])
    // Sent again before the service had read that.
    #expect(inbox.received(1, task: 7, isKnown: false) == .nothing)
    #expect(inbox.received(3, task: 7, isKnown: true) == .nothing)
    #expect(inbox.handled([3]) == .nothing)
    #expect(inbox.acknowledged([1, 2]) == .acknowledge([3]))
  }

  @Test func eventsThatAreHandledDuringAnAcknowledgementAreOneMessage() {
    var inbox = attached()
    for sequence: Int64 in 1...4 { _ = inbox.received(sequence, task: Int(sequence), isKnown: true) }
    #expect(inbox.handled([2]) == .acknowledge([2]))
    #expect(inbox.handled([4]) == .nothing)
    #expect(inbox.handled([1, 3]) == .nothing)
    #expect(inbox.acknowledged([2]) == .acknowledge([1, 3, 4]))
    #expect(inbox.acknowledged([1, 3, 4]) == .nothing)
    #expect((1...4).allSatisfy { !inbox.hasEvents(of: $0) })
  }

  @Test func noMessageHasMoreNumbersThanItMay() {
    var inbox = Inbox(limit: 2)
    for action in inbox.attached(willFinish: false) { Issue.record("not due: \(action)") }
    for sequence: Int64 in 1...5 { _ = inbox.received(sequence, task: 7, isKnown: true) }
    #expect(inbox.handled([1, 2, 3, 4, 5]) == .acknowledge([1, 2]))
    #expect(inbox.acknowledged([1, 2]) == .acknowledge([3, 4]))
    inbox.detached()
    #expect(inbox.attached(willFinish: false) == [.acknowledge([3, 4])])
    #expect(inbox.acknowledged([3, 4]) == .acknowledge([5]))
    #expect(inbox.acknowledged([5]) == .nothing)
  }

  @Test func nothingIsAcknowledgedWhileTheDiskIsGivenTime() {
    var inbox = attached()
    for sequence: Int64 in 1...2 { _ = inbox.received(sequence, task: 7, isKnown: true) }
    _ = inbox.handled([1])
    #expect(inbox.acknowledgementRefused([1], isTemporary: true) == .pause)
    #expect(inbox.handled([2]) == .nothing)
    #expect(inbox.pauseEnded() == .acknowledge([1, 2]))
  }

  @Test func anAcknowledgementThatTheDiskRefusedIsSentAfterAPause() {
    var inbox = attached()
    _ = inbox.received(1, task: 7, isKnown: true)
    _ = inbox.handled([1])
    #expect(inbox.acknowledgementRefused([1], isTemporary: true) == .pause)
    #expect(inbox.pauseEnded() == .acknowledge([1]))
    #expect(inbox.pauseEnded() == .nothing)
    #expect(inbox.acknowledgementRefused([1], isTemporary: false) == .nothing)
  }

  @Test func nothingIsSettledBeforeItIsConfirmedOrRefusedForGood() {
    var inbox = attached()
    #expect(inbox.isSettled)
    for sequence: Int64 in 1...2 { _ = inbox.received(sequence, task: 7, isKnown: true) }
    #expect(!inbox.isSettled)
    #expect(inbox.handled([1]) == .acknowledge([1]) && !inbox.isSettled)
    #expect(inbox.acknowledgementRefused([1], isTemporary: true) == .pause && !inbox.isSettled)
    #expect(inbox.pauseEnded() == .acknowledge([1]))
    #expect(inbox.acknowledgementRefused([1], isTemporary: false) == .nothing)
    #expect(!inbox.isSettled, "the app is told of the other one")
    #expect(inbox.handled([2]) == .acknowledge([2]))
    #expect(inbox.acknowledged([2]) == .nothing)
    #expect(inbox.isSettled)
    inbox.detached()
    #expect(!inbox.isSettled, "it is acknowledged over the next connection")
    #expect(inbox.attached(willFinish: false) == [.acknowledge([1])])
    #expect(inbox.leave([1]) == .keep([1]) && inbox.isSettled)
  }

  @Test func thePromiseOfAnEarlierServiceIsKept() {
    var inbox = Inbox()
    #expect(inbox.attached(willFinish: true).isEmpty)
    inbox.detached()
    #expect(inbox.attached(willFinish: true).isEmpty)
    inbox.detached()
    #expect(inbox.attached(willFinish: false) == [.tellFinished])
    inbox.detached()
    #expect(inbox.attached(willFinish: false).isEmpty)
    #expect(inbox.finished() == .tellFinished)
  }

  /// The service that has started the process may be gone, and its queue, or another process has handled the events.
  @Test(arguments: [true, false]) func aProcessThatWasStartedForEventsIsToldThatAllAreDelivered(_ willFinish: Bool) {
    var inbox = Inbox(awaitsFinish: true)
    #expect(inbox.attached(willFinish: willFinish) == (willFinish ? [] : [.tellFinished]))
    if willFinish { #expect(inbox.finished() == .tellFinished) }
    inbox.detached()
    #expect(inbox.attached(willFinish: false).isEmpty, "once")
  }

  /// A service that sends its log from the start after each connection, and loses connections at any moment.
  private struct Service {
    var log: [Int64]
    var sent: Int
    var isConnected = true
    /// Acknowledgements on their way to it, and its confirmations on their way back.
    var arriving: [[Int64]] = []
    var confirming: [[Int64]] = []
  }

  /// Whatever is lost: each event is delivered once, acknowledged only after it was handled, and in the end none is left.
  @Test(arguments: 0..<200) func deliversEachEventOnce(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var inbox = attached()
    var service = Service(log: Array(1...30), sent: 0)
    var delivered: [Int64] = []
    var handled: Set<Int64> = []

    func perform(_ action: Inbox.Action) {
      switch action {
      case .acknowledge(let sequences):
        #expect(service.isConnected && handled.isSuperset(of: sequences))
        #expect(service.arriving.allSatisfy { Set($0).isDisjoint(with: sequences) }, "acknowledged twice at a time")
        service.arriving.append(sequences)
      case .pause, .nothing, .tellFinished, .keep: break
      case .deliver: Issue.record("not asked for")
      }
    }
    func deliverNext() {
      guard service.isConnected, service.sent < service.log.count else { return }
      let sequence = service.log[service.sent]
      service.sent += 1
      switch inbox.received(sequence, task: Int(sequence) / 2, isKnown: true) {
      case .deliver: delivered.append(sequence)
      case let action: perform(action)
      }
    }
    func handleOne() {
      guard let sequence = delivered.filter({ !handled.contains($0) }).randomElement(using: &generator) else { return }
      handled.insert(sequence)
      perform(inbox.handled([sequence]))
    }
    func takeAcknowledgement(isRefused: Bool) {
      guard service.isConnected, !service.arriving.isEmpty else { return }
      let sequences = service.arriving.removeFirst()
      guard !isRefused else { return perform(inbox.acknowledgementRefused(sequences, isTemporary: true)) }
      let before = service.log.prefix(service.sent).count { sequences.contains($0) }
      service.log.removeAll { sequences.contains($0) }
      service.sent -= before
      service.confirming.append(sequences)
    }
    func confirm() {
      guard service.isConnected, !service.confirming.isEmpty else { return }
      perform(inbox.acknowledged(service.confirming.removeFirst()))
    }
    func cut() {
      guard service.isConnected else { return }
      service.isConnected = false
      (service.arriving, service.confirming) = ([], [])
      inbox.detached()
    }
    func connect() {
      guard !service.isConnected else { return }
      service.isConnected = true
      service.sent = 0
      for action in inbox.attached(willFinish: true) { perform(action) }
    }

    for _ in 0..<300 {
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<6: deliverNext()
      case 6..<10: handleOne()
      case 10..<13: takeAcknowledgement(isRefused: false)
      case 13: takeAcknowledgement(isRefused: true)
      case 14..<16: confirm()
      case 16: cut()
      case 17, 18: connect()
      default: perform(inbox.pauseEnded())
      }
    }
    connect()
    for _ in 0..<200 {
      deliverNext()
      handleOne()
      takeAcknowledgement(isRefused: false)
      confirm()
      perform(inbox.pauseEnded())
    }
    #expect(delivered.sorted() == Array(1...30), "delivered twice or never")
    #expect(service.log.isEmpty, "never acknowledged")
    #expect((0...15).allSatisfy { !inbox.hasEvents(of: $0) })
  }
}
