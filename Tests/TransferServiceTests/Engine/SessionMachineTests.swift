import Foundation
import SystemServices
import Testing

@testable import TransferService

/// The answers of a session's machine.
@Suite struct SessionMachineTests {
  typealias Machine = SessionMachine
  static let start = BootInstant(nanoseconds: 1_000_000_000_000)
  static let process = ProcessIdentity(pid: 7, startTime: 7)
  static let rules = Machine.Rules(
    deliveryWindow: 2, launches: LaunchSchedule(firstWait: 10, longestWait: 40, limit: 4), earliestLaunch: start)

  static func holder(
    _ connection: UInt64 = 1, sendsLaunchEvents: Bool = true, isOfLaunch: Bool = false
  ) -> Machine.Event {
    .attached(
      .init(
        connection: connection, process: process, sendsLaunchEvents: sendsLaunchEvents, isOfLaunch: isOfLaunch))
  }

  /// The actions of the last event.
  private func last(_ machine: inout Machine, _ events: [Machine.Event], at now: BootInstant = start) -> [Machine
    .Action]
  {
    events.reduce([]) { machine.handle($1, at: now) }
  }

  // MARK: Events

  @Test func sendsEventsOnceTheAppAsksForThem() {
    var machine = Machine(rules: Self.rules, pending: 3)
    #expect(last(&machine, [Self.holder()]) == [])
    #expect(machine.attachment?.owesEventsFinished == true && machine.receiver == nil)
    #expect(last(&machine, [.deliveryStarted]) == [.sendEvents(connection: 1, after: 0, limit: 2)])
    #expect(machine.receiver == 1)
    // The window is full.
    #expect(last(&machine, [.eventsSent([1, 2], connection: 1)]) == [])
    #expect(
      last(&machine, [.acknowledged([1], removed: 1)]) == [.sendEvents(connection: 1, after: 2, limit: 1)])
    #expect(last(&machine, [.eventsSent([3], connection: 1), .acknowledged([2], removed: 1)]) == [])
    #expect(last(&machine, [.acknowledged([3], removed: 1)]) == [.sendEventsFinished(connection: 1)])
    #expect(last(&machine, [.acknowledged([3], removed: 0)]) == [])
  }

  /// An app without a delegate acknowledges nothing.
  @Test func eventsThatTheAppLeavesDoNotStopThoseBehindThem() {
    var machine = Machine(rules: Self.rules, pending: 3)
    _ = last(&machine, [Self.holder(1), .deliveryStarted, .eventsSent([1, 2], connection: 1)])
    #expect(last(&machine, [.kept([2, 9])]) == [.sendEvents(connection: 1, after: 2, limit: 1)])
    #expect(last(&machine, [.eventsSent([3], connection: 1), .kept([1, 3])]) == [], "it has sent all")
    #expect(last(&machine, [.eventsAppended(1)]) == [.sendEvents(connection: 1, after: 3, limit: 1)])
    #expect(last(&machine, [.eventsSent([], connection: 1)]) == [] && machine.pending == 3)
    // They wait for the next holder.
    #expect(last(&machine, [Self.holder(2), .deliveryStarted]) == [.sendEvents(connection: 2, after: 0, limit: 2)])
  }

  /// The commit that takes an event out of the queue is visible before the machine hears of it.
  @Test func anEventThatIsMissingBeforeItsRemovalIsToldCountsOnce() {
    var machine = Machine(rules: Self.rules, pending: 2)
    _ = last(&machine, [Self.holder(), .deliveryStarted, .eventsSent([2], connection: 1)])
    #expect(last(&machine, [.eventsSent([], connection: 1)]) == [] && machine.pending == 1)
    #expect(last(&machine, [.eventsRemoved(1)]) == [] && machine.pending == 1)
    #expect(last(&machine, [.acknowledged([2], removed: 1)]) == [.sendEventsFinished(connection: 1)])
  }

  @Test func theNextHolderGetsWhatWasNotAcknowledged() {
    var machine = Machine(rules: Self.rules, pending: 2, unfinished: 1, active: 1)
    _ = last(&machine, [Self.holder(1), .deliveryStarted, .eventsSent([1, 2], connection: 1)])
    _ = last(&machine, [.acknowledged([2], removed: 1), .released, Self.holder(2)])
    #expect(last(&machine, [.deliveryStarted]) == [.sendEvents(connection: 2, after: 0, limit: 1)])
    // An answer for the holder before changes nothing.
    #expect(last(&machine, [.eventsSent([9], connection: 1)]) == [])
    #expect(
      last(&machine, [.eventsSent([1], connection: 2), .eventsAppended(1)])
        == [.sendEvents(connection: 2, after: 1, limit: 1)])
  }

  @Test func anAppThatReadsSlowlyGetsMoreOnceItReads() {
    var machine = Machine(rules: Self.rules, pending: 1)
    #expect(last(&machine, [Self.holder(), .deliveryStarted, .holderTookNone(connection: 1)]) == [])
    #expect(last(&machine, [.eventsAppended(1)]) == [])
    #expect(last(&machine, [.holderTakesMore]) == [.sendEvents(connection: 1, after: 0, limit: 2)])
  }

  /// Further events may be in the queue, of ends that are still withdrawn where a cancellation came in time.
  @Test(
    arguments: [
      (1, [], [], 1), (2, [], [], 2), (9, [], [], 4), (4, [1, 2, 3], [], 1), (5, [1, 2, 3], [2, 3], 2),
    ] as [(Int, [Int64], [Int64], Int)])
  func noMoreEventsAreReadThanAreKnownOf(pending: Int, sent: [Int64], kept: [Int64], limit: Int) {
    var rules = Self.rules
    rules.deliveryWindow = 4
    var machine = Machine(rules: rules, pending: pending)
    var actions = last(&machine, [Self.holder(), .deliveryStarted])
    if !sent.isEmpty { actions = last(&machine, [.eventsSent(sent, connection: 1)]) }
    if !kept.isEmpty {
      _ = last(&machine, [.eventsSent([], connection: 1)])
      actions = last(&machine, [.kept(kept), .eventsAppended(pending - sent.count)])
    }
    #expect(actions == [.sendEvents(connection: 1, after: sent.last ?? 0, limit: limit)])
  }

  @Test func unreadableEventsAreReadAgain() {
    var machine = Machine(rules: Self.rules, pending: 1)
    #expect(last(&machine, [Self.holder(), .deliveryStarted, .eventsUnreadable(connection: 1)]) == [.setDeliveryTimer])
    #expect(last(&machine, [.eventsAppended(1), .holderTakesMore]) == [])
    #expect(last(&machine, [.deliveryTimerFired]) == [.sendEvents(connection: 1, after: 0, limit: 2)])
    #expect(last(&machine, [.eventsUnreadable(connection: 1)]) == [.setDeliveryTimer])
    #expect(machine.handle(.released, at: Self.start).first == .cancelDeliveryTimer)
  }

  /// Other transfers may be under way: the one that waits can't go on without its app.
  @Test func theAppIsStartedForATransferThatWaitsForItsAnswer() {
    var machine = Machine(rules: Self.rules, unfinished: 2, active: 2)
    #expect(last(&machine, [.transferNeedsApp]) == [.launch(launches: 1)])
    #expect(last(&machine, [.transferBecameInactive, .launched(number: 1)]) == [.setPatienceTimer(number: 1)])
    _ = last(&machine, [Self.holder(), .launchedAppEnded(number: 1)])
    #expect(machine.attachment?.owesEventsFinished == true)
    // The end of events is not announced while the transfer waits.
    #expect(last(&machine, [.deliveryStarted, .transferBecameInactive]) == [])
    #expect(last(&machine, [.transferBecameActive, .transferNeedsNoApp]) == [])
    #expect(last(&machine, [.transferBecameInactive]) == [.sendEventsFinished(connection: 1)])
  }

  @Test func anAppThatIsNotToBeStartedIsNotStartedForItsAnswer() {
    var machine = Machine(rules: Self.rules, unfinished: 1, active: 1, sendsLaunchEvents: false)
    #expect(last(&machine, [.transferNeedsApp]) == [])
  }

  @Test func theEndOfEventsIsPromisedOnlyWhereSomethingIsToCome() {
    var machine = Machine(rules: Self.rules)
    #expect(last(&machine, [Self.holder(), .deliveryStarted]) == [])
    #expect(machine.attachment?.owesEventsFinished == false)
    machine = Machine(rules: Self.rules, unfinished: 1, active: 1)
    #expect(last(&machine, [Self.holder(), .deliveryStarted]) == [])
    #expect(last(&machine, [.eventsAppended(1)]) == [.sendEvents(connection: 1, after: 0, limit: 1)])
    _ = last(&machine, [.transferBecameInactive, .transferEnded, .eventsSent([1], connection: 1)])
    #expect(last(&machine, [.acknowledged([1], removed: 1)]) == [.sendEventsFinished(connection: 1)])
  }

  @Test func anEmptyReadCorrectsTheCount() {
    var machine = Machine(rules: Self.rules, pending: 5)
    #expect(
      last(&machine, [Self.holder(), .deliveryStarted, .eventsSent([], connection: 1)])
        == [.sendEventsFinished(connection: 1)])
  }

  // MARK: Launches

  /// Its commit was read before it was told: the events are not subtracted twice, and the next ones are sent.
  @Test func anAcknowledgementBehindAnEmptyReadCountsOnce() {
    var machine = Machine(rules: Self.rules, pending: 2)
    _ = last(&machine, [Self.holder(), .deliveryStarted, .holderTookNone(connection: 1), .holderTakesMore])
    #expect(
      last(&machine, [.eventsSent([], connection: 1)]) == [.sendEventsFinished(connection: 1)] && machine.pending == 0)
    #expect(last(&machine, [.acknowledged([1, 2], removed: 2)]) == [] && machine.pending == 0)
    #expect(last(&machine, [.eventsAppended(2)]) == [.sendEvents(connection: 1, after: 0, limit: 2)])
    // Later ones count as they always did.
    #expect(last(&machine, [.eventsSent([3, 4], connection: 1), .acknowledged([3, 4], removed: 2)]) == [])
    #expect(machine.pending == 0)
  }

  @Test func startsTheAppOfASessionWithoutHolder() {
    var machine = Machine(rules: Self.rules, unfinished: 1, active: 1)
    #expect(last(&machine, [.recovered]) == [])
    #expect(last(&machine, [.eventsAppended(1)]) == [])
    #expect(last(&machine, [.transferBecameInactive]) == [.launch(launches: 1)])
    #expect(machine.awaitsLaunch)
    #expect(last(&machine, [.transferEnded, .launched(number: 5)]) == [.setPatienceTimer(number: 5)])
  }

  /// 10 s, 20 s, 40 s: each start in vain makes the pause longer, and the app is not started a moment earlier.
  @Test func pausesLongerAfterEachStartInVain() {
    var machine = Machine(rules: Self.rules, pending: 1)
    var now = Self.start
    #expect(last(&machine, [.recovered]) == [.launch(launches: 1)])
    for (number, pause) in [(1, 10.0), (2, 20), (3, 40)] {
      #expect(last(&machine, [.launched(number: number)], at: now) == [.setPatienceTimer(number: number)])
      #expect(
        last(&machine, [.launchedAppEnded(number: number)], at: now)
          == [.cancelPatienceTimer, .setLaunchTimer(seconds: pause)])
      now = now + (pause - 0.1)
      #expect(last(&machine, [.clockMoved, .eventsAppended(1)], at: now) == [])
      #expect(machine.handle(.launchTimerFired, at: now).count == 1)
      now = now + 0.2
      #expect(last(&machine, [.launchTimerFired], at: now) == [.launch(launches: number + 1)])
    }
    _ = last(&machine, [.launched(number: 4)], at: now)
    let end = last(&machine, [.launchedAppEnded(number: 4)], at: now)
    #expect(end == [.cancelPatienceTimer, .reportRefusal("it was started 4 times and never said that it was done")])
    #expect(!machine.awaitsLaunch)
  }

  @Test func doesNotStartAnAppThatLives() {
    var machine = Machine(rules: Self.rules, pending: 1, lastHolder: Self.process)
    #expect(last(&machine, [.recovered]) == [.checkHolder(Self.process)])
    // Its end is told, so no timer is needed.
    #expect(last(&machine, [.holderChecked(Self.process, isAlive: true), .clockMoved, .eventsAppended(1)]) == [])
    #expect(machine.launch == .awaitingHolder && machine.awaitsLaunch)
    #expect(last(&machine, [.holderChecked(Self.process, isAlive: false)]) == [.launch(launches: 1)])
  }

  /// It comes back, or has nothing to come back for.
  @Test func theEndOfAnAppIsNotAwaitedWithoutNeed() {
    var machine = Machine(rules: Self.rules, pending: 1, lastHolder: Self.process)
    _ = last(&machine, [.recovered, .holderChecked(Self.process, isAlive: true)])
    #expect(last(&machine, [Self.holder()]) == [.stopWatchingHolder])
    machine = Machine(rules: Self.rules, pending: 1, unfinished: 1, lastHolder: Self.process)
    _ = last(&machine, [.recovered, .holderChecked(Self.process, isAlive: true)])
    #expect(last(&machine, [.transferBecameActive]) == [.stopWatchingHolder])
    #expect(machine.launch == .none)
  }

  @Test func leavesAppsTheTimeToComeBack() {
    var rules = Self.rules
    rules.earliestLaunch = Self.start + 3
    var machine = Machine(rules: rules, pending: 1)
    #expect(last(&machine, [.recovered]) == [.setLaunchTimer(seconds: 3)])
    // It comes.
    #expect(last(&machine, [Self.holder()]) == [.cancelLaunchTimer])
  }

  @Test func anAppThatItsUserStartedBeginsAnew() {
    var machine = Machine(rules: Self.rules, pending: 1, launches: 3, lastLaunch: Self.start)
    #expect(last(&machine, [Self.holder()]) == [.forgetLaunches])
    #expect(machine.launches == 0 && machine.attachment?.owesEventsFinished == true)
  }

  /// The process that was started has ended, and a fork of it goes on.
  @Test func anAppThatWasStartedIsNotStartedByItsUser() {
    var machine = Machine(rules: Self.rules, pending: 1, launches: 3, lastLaunch: Self.start)
    #expect(last(&machine, [Self.holder(isOfLaunch: true)]) == [])
    #expect(machine.launches == 3 && machine.recentLaunches == 3 && machine.lastLaunch == Self.start)
  }

  @Test func anAppThatWasStartedIsDoneWhenItSaysSoAndHasAcknowledged() {
    var machine = Machine(rules: Self.rules, pending: 1)
    _ = last(&machine, [.recovered, .launched(number: 1), Self.holder(), .deliveryStarted])
    #expect(machine.launches == 1)
    #expect(last(&machine, [.eventsSent([1], connection: 1), .saidDone]) == [])
    #expect(
      last(&machine, [.acknowledged([1], removed: 1)]) == [.sendEventsFinished(connection: 1), .noteLaunchesHandled])
    #expect(last(&machine, [.released]) == [])
    #expect(last(&machine, [.launchedAppEnded(number: 1)]) == [.cancelPatienceTimer, .retire])
  }

  /// The connection that the app acknowledged over has ended, and it has not attached again.
  @Test(arguments: [0, 1]) func anAppThatHoldsNoSessionIsDoneWhenNoEventWaits(pending: Int) {
    var machine = Machine(rules: Self.rules, pending: pending, launches: 1, lastLaunch: Self.start)
    _ = last(&machine, [.recovered])
    #expect(
      last(&machine, [.saidDone]) == (pending == 0 ? [.noteLaunchesHandled, .cancelLaunchTimer, .retire] : []))
    #expect(machine.launches == pending)
  }

  /// It queues something each time that it is started, and says that it is done.
  @Test func launchesAreCountedAlsoWhenTheAppIsDone() {
    var machine = Machine(rules: Self.rules, pending: 1)
    var now = Self.start
    #expect(last(&machine, [.recovered]) == [.launch(launches: 1)])
    func run(_ number: Int) -> [Machine.Action] {
      let connection = UInt64(number)
      _ = last(&machine, [.launched(number: number), Self.holder(connection), .deliveryStarted], at: now)
      _ = last(&machine, [.eventsSent([Int64(number)], connection: connection), .saidDone], at: now)
      #expect(
        last(&machine, [.acknowledged([Int64(number)], removed: 1)], at: now)
          == [.sendEventsFinished(connection: connection), .noteLaunchesHandled])
      #expect(machine.launches == 0 && machine.recentLaunches == number)
      _ = last(
        &machine,
        [
          .transferAdded, .transferBecameActive, .released, .holderChecked(Self.process, isAlive: false),
          .launchedAppEnded(number: number), .eventsAppended(1),
        ], at: now)
      let actions = last(&machine, [.transferBecameInactive], at: now)
      _ = last(&machine, [.transferEnded], at: now)
      return actions
    }
    for (number, pause) in [(1, 10.0), (2, 20), (3, 40), (4, 40), (5, 40)] {
      #expect(run(number) == [.setLaunchTimer(seconds: pause)])
      now = now + pause
      #expect(last(&machine, [.launchTimerFired], at: now) == [.launch(launches: 1)])
    }
    // Not needed for long: the next pause is the first one again.
    _ = run(6)
    now = now + 80
    #expect(last(&machine, [.launchTimerFired], at: now) == [.launch(launches: 1)])
    #expect(run(1) == [.setLaunchTimer(seconds: 10)])
    // The app was started by its user.
    #expect(last(&machine, [Self.holder(9)], at: now) == [.cancelLaunchTimer, .forgetLaunches])
    #expect(machine.recentLaunches == 0 && machine.lastLaunch == nil)
  }

  @Test func anAppThatDoesNotWantItIsNotStarted() {
    var machine = Machine(rules: Self.rules, pending: 1, sendsLaunchEvents: false)
    #expect(last(&machine, [.recovered]) == [])
    #expect(last(&machine, [Self.holder(), .released]) != [.launch(launches: 1)])
    #expect(last(&machine, [Self.holder(sendsLaunchEvents: false), .released]) == [])
  }

  @Test func aFailedStartIsTriedAgainOrRefused() {
    var machine = Machine(rules: Self.rules, pending: 1)
    _ = last(&machine, [.recovered])
    #expect(last(&machine, [.launchFailed("busy", isTemporary: true)]) == [.setLaunchTimer(seconds: 10)])
    #expect(last(&machine, [.launchTimerFired], at: Self.start + 10) == [.launch(launches: 2)])
    #expect(last(&machine, [.launchFailed("replaced", isTemporary: false)]) == [.reportRefusal("replaced")])
    #expect(last(&machine, [.clockMoved], at: Self.start + 10_000) == [])
    // Until it has shown itself.
    #expect(last(&machine, [Self.holder()]) == [.forgetLaunches])
    #expect(
      last(&machine, [.released, .holderChecked(Self.process, isAlive: false)], at: Self.start + 10_000)
        == [.launch(launches: 1)])
  }

  /// Its user has started it while the start was being written down.
  @Test(arguments: [false, true]) func anAppThatAttachesMeanwhileIsNotStarted(isOfLaunch: Bool) {
    var machine = Machine(rules: Self.rules, pending: 1)
    #expect(last(&machine, [.recovered]) == [.launch(launches: 1)])
    #expect(last(&machine, [Self.holder(isOfLaunch: isOfLaunch)]) == [])
    #expect(last(&machine, [.launchIsNeedless]) == (isOfLaunch ? [] : [.forgetLaunches]))
    #expect(
      machine.launch == .none && machine.isInForeground == !isOfLaunch && machine.launches == (isOfLaunch ? 1 : 0))
  }

  /// A start that was withdrawn makes no later pause longer, though the process that it was withdrawn for has gone.
  @Test(arguments: [false, true]) func anAppThatCameAndWentMeanwhileIsNotCounted(isOfLaunch: Bool) {
    var machine = Machine(rules: Self.rules, pending: 1)
    #expect(last(&machine, [.recovered]) == [.launch(launches: 1)])
    _ = last(&machine, [Self.holder(isOfLaunch: isOfLaunch), .released])
    #expect(last(&machine, [.launchIsNeedless]).contains(.forgetLaunches) == !isOfLaunch)
    #expect(machine.launches == (isOfLaunch ? 1 : 0))
  }

  @Test func theEndOfAnEarlierStartDoesNotConcernALaterOne() {
    var machine = Machine(rules: Self.rules, pending: 1)
    _ = last(&machine, [.recovered, .launched(number: 1)])
    #expect(last(&machine, [.patienceTimerFired(number: 1)]) == [.setLaunchTimer(seconds: 10)])
    _ = last(&machine, [.launchTimerFired, .launched(number: 2)], at: Self.start + 10)
    #expect(last(&machine, [.launchedAppEnded(number: 1)]) == [])
    #expect(machine.launch == .running(number: 2))
  }

  // MARK: The end

  @Test func needsNoMemoryOnceAllIsTold() {
    var machine = Machine(rules: Self.rules)
    _ = last(&machine, [Self.holder(), .deliveryStarted, .transferAdded, .transferBecameActive])
    #expect(last(&machine, [.released]) == [])
    #expect(last(&machine, [.invalidated, .transferBecameInactive]) == [])
    #expect(last(&machine, [.transferEnded]) == [.retire])
  }
}
