import Foundation
import LoopbackServer
import SystemServices
import Testing

@testable import TransferService

/// Random sequences of events for the machine of a session, in a world that keeps the events and answers in any order.
@Suite struct SessionMachineSequenceTests {
  private struct World {
    var random: SeededGenerator
    var machine = SessionMachine(rules: SessionMachineTests.rules)
    var now = SessionMachineTests.start

    /// The queue: events that are not acknowledged, in order, and the number of the next one.
    var queue: [Int64] = []
    var nextSequence: Int64 = 1
    var active = 0
    var unfinished = 0

    /// The present holder, and the events that it was sent.
    var connection: UInt64?
    var lastConnection: UInt64 = 0
    var asked = false
    var received: [Int64] = []
    var unacknowledged: Set<Int64> = []
    var acknowledged: Set<Int64> = []
    var isPromised = false
    var reading: (connection: UInt64, after: Int64, limit: Int)?
    var isFull = false
    var deliveryTimers = 0

    var launchTimers = 0
    var patienceTimers = 0
    var isChecking = false
    var isStarting = false
    var runningApp: Int?
    var launchCount = 0
    var lastLaunch: BootInstant?
    var launchesInVain = 0
    var recentLaunches = 0
    var isWatching = false
    var isRetired = false
    var problems: [String] = []
    var history: [String] = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func check(_ condition: Bool, _ problem: String) {
      if !condition { problems.append(problem) }
    }

    mutating func send(_ event: SessionMachine.Event) {
      history.append("\(event)")
      isRetired = false
      for action in machine.handle(event, at: now) { perform(action) }
      if case .planned = machine.launch { check(launchTimers == 1, "a planned launch without a timer") }
      check(isWatching == (machine.launch == .awaitingHolder), "it watches a process without need, or not with it")
      check(connection == machine.attachment?.connection, "it knows another holder")
      if isRetired {
        check(
          connection == nil && queue.isEmpty && unfinished == 0 && !isStarting && runningApp == nil,
          "it retires too early"
        )
        check(launchTimers + patienceTimers + deliveryTimers == 0 && !isWatching, "it retires and leaves a timer")
      }
    }

    private mutating func perform(_ action: SessionMachine.Action) {
      switch action {
      case .sendEvents(let connection, let after, let limit):
        check(connection == self.connection && asked, "events for an app that did not ask")
        check(reading?.connection != connection, "it reads twice at once")
        check(limit > 0 && unacknowledged.count + limit <= machine.rules.deliveryWindow, "more than the window holds")
        check(after == received.last ?? 0, "it skips events, or repeats them")
        reading = (connection, after, limit)
      case .sendEventsFinished(let connection):
        check(connection == self.connection && isPromised, "an end of events that was not promised")
        check(queue.isEmpty && active == 0, "the end of events before the end")
        isPromised = false
      case .setDeliveryTimer:
        check(deliveryTimers == 0, "a second delivery timer")
        deliveryTimers += 1
      case .cancelDeliveryTimer:
        check(deliveryTimers == 1, "no delivery timer to cancel")
        deliveryTimers -= 1
      case .setLaunchTimer(let seconds):
        check(launchTimers == 0 && seconds > 0, "a second launch timer, or one for now")
        launchTimers += 1
      case .cancelLaunchTimer:
        check(launchTimers == 1, "no launch timer to cancel")
        launchTimers -= 1
      case .checkHolder:
        check(!isChecking, "it looks twice at once")
        isChecking = true
      case .launch(let launches):
        check(connection == nil && active == 0, "it starts an app that is there, or too early")
        check(!isStarting && runningApp == nil, "it starts an app twice at once")
        check(!isWatching, "it starts an app whose process lives")
        if let lastLaunch {
          let pause = machine.rules.launches.wait(launches: recentLaunches, sinceLast: now - lastLaunch)
          check(pause == 0, "it starts an app without the pause")
        }
        launchesInVain += 1
        recentLaunches = machine.recentLaunches
        check(recentLaunches >= launchesInVain, "it forgets launches")
        check(launches == launchesInVain, "it counts \(launches) launches instead of \(launchesInVain)")
        isStarting = true
        lastLaunch = now
      case .setPatienceTimer:
        check(patienceTimers == 0, "a second patience timer")
        patienceTimers += 1
      case .cancelPatienceTimer:
        check(patienceTimers == 1, "no patience timer to cancel")
        patienceTimers -= 1
      case .stopWatchingHolder:
        check(isWatching, "it watches no process")
        isWatching = false
      case .noteLaunchesHandled: launchesInVain = 0
      case .forgetLaunches:
        (launchesInVain, recentLaunches) = (0, 0)
        lastLaunch = nil
      case .reportRefusal: break
      case .retire: isRetired = true
      }
    }

    private mutating func leave() {
      connection = nil
      asked = false
      received = []
      unacknowledged = []
      isPromised = false
      isFull = false
    }

    // MARK: What the world does

    mutating func attach() {
      leave()
      lastConnection += 1
      connection = lastConnection
      send(
        .attached(
          .init(
            connection: lastConnection, process: SessionMachineTests.process, sendsLaunchEvents: true, isOfLaunch: false
          )))
      isPromised = machine.attachment?.owesEventsFinished ?? false
      check(isPromised || queue.isEmpty, "events wait and their end is not promised")
    }

    mutating func startDelivery() {
      guard connection != nil else { return }
      asked = true
      send(.deliveryStarted)
    }

    mutating func endTransfer() {
      guard active > 0 else { return }
      let count = Int.random(in: 1...2, using: &random)
      queue += (0..<count).map { nextSequence + Int64($0) }
      nextSequence += Int64(count)
      send(.eventsAppended(count))
      active -= 1
      send(.transferBecameInactive)
      unfinished -= 1
      send(.transferEnded)
    }

    mutating func addTransfer() {
      guard connection != nil else { return }
      unfinished += 1
      send(.transferAdded)
      active += 1
      send(.transferBecameActive)
    }

    mutating func answerRead(works: Bool) {
      guard let (connection, after, limit) = reading else { return }
      reading = nil
      if works, connection != self.connection { return send(.eventsSent([], connection: connection)) }
      if isFull { return send(.holderTookNone(connection: connection)) }
      guard works else { return send(.eventsUnreadable(connection: connection)) }
      let events = queue.filter { $0 > after }.prefix(limit)
      received += events
      unacknowledged.formUnion(events)
      check(acknowledged.isDisjoint(with: events), "an event is sent after its acknowledgement")
      send(.eventsSent(Array(events), connection: connection))
    }

    mutating func acknowledge() {
      guard let sequence = unacknowledged.randomElement(using: &random) else { return }
      unacknowledged.remove(sequence)
      acknowledged.insert(sequence)
      let isThere = queue.contains(sequence)
      queue.removeAll { $0 == sequence }
      send(.acknowledged([sequence], removed: isThere ? 1 : 0))
    }

    mutating func keep() {
      guard let sequence = unacknowledged.randomElement(using: &random) else { return }
      unacknowledged.remove(sequence)
      send(.kept([sequence]))
    }

    mutating func step() {
      // A read is mostly answered before anything else happens, as in the engine's turns.
      if reading != nil, !random.chance(in: 3) { return answerRead(works: !random.chance(in: 6)) }
      switch Int.random(in: 0..<18, using: &random) {
      case 0: attach()
      case 1, 2: startDelivery()
      case 3: endTransfer()
      case 4: addTransfer()
      case 5, 6: acknowledge()
      case 7 where connection != nil:
        leave()
        send(.released)
      case 8:
        now = now + Double.random(in: 0...30, using: &random)
        send(.clockMoved)
      case 9 where launchTimers > 0:
        launchTimers -= 1
        if case .planned = machine.launch {} else { problems.append("a launch timer that is not needed") }
        now = now + Double.random(in: 0...20, using: &random)
        send(.launchTimerFired)
      case 10 where deliveryTimers > 0:
        deliveryTimers -= 1
        send(.deliveryTimerFired)
      case 11 where isChecking:
        isChecking = false
        isWatching = random.chance(in: 3)
        send(.holderChecked(SessionMachineTests.process, isAlive: isWatching))
      case 12 where isStarting:
        isStarting = false
        if random.chance(in: 4) {
          send(.launchFailed("broken", isTemporary: random.chance(in: 2)))
        } else {
          launchCount += 1
          runningApp = launchCount
          send(.launched(number: launchCount))
        }
      case 13:
        guard let number = runningApp else { return }
        runningApp = nil
        if random.chance(in: 4) {
          patienceTimers -= 1
          send(.patienceTimerFired(number: number))
        } else {
          send(.launchedAppEnded(number: number))
        }
      case 14 where connection != nil: send(.saidDone)
      case 15:
        isFull.toggle()
        if !isFull { send(.holderTakesMore) }
      case 16: keep()
      case 17 where isWatching: endHolder()
      default: break
      }
    }

    mutating func endHolder() {
      isWatching = false
      send(.holderChecked(SessionMachineTests.process, isAlive: false))
    }

    /// An app comes, takes everything, says that it is done and goes.
    mutating func settle() {
      while isStarting || isChecking || isWatching || runningApp != nil || reading != nil {
        answerRead(works: true)
        if isWatching { endHolder() }
        if isChecking {
          isChecking = false
          send(.holderChecked(SessionMachineTests.process, isAlive: false))
        }
        if isStarting {
          isStarting = false
          send(.launchFailed("broken", isTemporary: false))
        }
        if let number = runningApp {
          runningApp = nil
          send(.launchedAppEnded(number: number))
        }
      }
      attach()
      startDelivery()
      while active > 0 { endTransfer() }
      let expected = queue
      while reading != nil || !unacknowledged.isEmpty {
        answerRead(works: true)
        acknowledge()
      }
      check(received == expected, "\(received) were delivered, not \(expected)")
      check(queue.isEmpty && machine.pending == 0, "events are left")
      check(!isPromised, "the end of events was promised and not sent")
      send(.saidDone)
      leave()
      send(.released)
      check(isRetired, "it stays, with nothing to do")
    }
  }

  @Test(arguments: 0..<8) func losesNoEventAndDoublesNone(part: UInt64) {
    for seed in (part * 1_000)..<((part + 1) * 1_000) {
      var world = World(seed: seed)
      for _ in 0..<80 { world.step() }
      world.settle()
      #expect(world.problems == [], "seed \(seed): \(world.history)")
      if !world.problems.isEmpty { return }
    }
  }
}
