import Foundation
import HTTPSemantics
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A machine with its power, network, servers and apps, in virtual time. What decides is real: the scheduler, the machines of
/// the transfers with their rule for retries, the deadlines, the rule for transfers that can wait, and the tables of limits. A
/// limit is shared evenly by what runs below it.
struct SimulatedLaptop {
  static let day: TimeInterval = 86_400
  private static let start = BootInstant(nanoseconds: 1_000_000_000)
  private static let midnight = Date(timeIntervalSince1970: 1_750_032_000)

  let servers: [String: SimulatedServer]
  private(set) var transfers: [TransferID: SimulatedTransfer] = [:]
  private(set) var decisions = 0
  private(set) var networkChanges: [BootInstant] = []
  /// Bytes that have arrived while the limit of the service held, and for how many seconds it did.
  private(set) var limited: (bytes: Double, seconds: TimeInterval) = (0, 0)

  /// The power, the network and the user at that hour of the day.
  private let conditions: (_ hour: Double) -> MachineConditions
  private let limits: [LimitSubject: LimitTable]
  private var present = MachineConditions()
  private var isLimited = false
  private var scheduler = Scheduler()
  private var deadlines = ResourceDeadlines()
  private var generator = SeededGenerator(seed: 7)
  private var now = start
  private var isOnline = true
  private var wakeAt: BootInstant?
  private var running: Set<TransferID> = []

  init(
    _ servers: [String: SimulatedServer], limits: [LimitSubject: LimitTable] = [:],
    conditions: @escaping (_ hour: Double) -> MachineConditions = { _ in MachineConditions() }
  ) {
    self.servers = servers
    self.limits = limits
    self.conditions = conditions
    present = conditions(0)
  }

  var seconds: TimeInterval { now - SimulatedLaptop.start }
  private var date: Date { SimulatedLaptop.midnight + seconds }
  private var hour: Double { seconds.truncatingRemainder(dividingBy: SimulatedLaptop.day) / 3_600 }

  // MARK: What happens

  mutating func create(
    app: AppID, host: String, size: Int64, priority: Float = 0.5, limit: TimeInterval = 7 * day,
    isDiscretionary: Bool = false
  ) {
    let id = TransferID(transfers.count + 1)
    transfers[id] = SimulatedTransfer(
      id: id, app: app, host: host, size: size, priority: priority, created: now, limit: limit,
      isDiscretionary: isDiscretionary)
    handle(.queued(delay: nil), id)
    choose()
  }

  /// Time passes on this machine, with all that happens meanwhile.
  mutating func advance(to end: TimeInterval) {
    while seconds < end {
      var next = SimulatedLaptop.start + end
      share()
      for id in running { if let run = transfers[id]?.run { next = min(next, now + run.rest) } }
      if let wakeAt { next = min(next, wakeAt) }
      if let deadline = deadlines.earliest { next = min(next, deadline) }
      // The conditions change at quarters of hours.
      next = min(next, SimulatedLaptop.start + ((seconds / 900).rounded(.down) + 1) * 900)
      // Runs report while they receive.
      if !running.isEmpty { next = min(next, now + 60) }
      let before = now
      now = max(next, now + 0.001)
      receive(for: now - before)
      report()
      for id in running.sorted() {
        // What is left of it is less than a step.
        if let run = transfers[id]?.run, run.rest < 0.001 { finishRun(id, run.end) }
      }
      look()
      for id in deadlines.takeOverdue(at: now) { handle(.failed(.timedOut(""), nil), id) }
      if let wakeAt, wakeAt <= now { scheduler.clockMoved() }
      choose()
    }
  }

  /// The machine is asleep: nothing runs, and the clock goes on.
  mutating func sleep(until end: TimeInterval) {
    now = SimulatedLaptop.start + end
    look()
    loseConnections()
    networkChanged()
  }

  mutating func setOnline(_ isOnline: Bool) {
    self.isOnline = isOnline
    look()
    if !isOnline { loseConnections() }
    networkChanged()
  }

  private var conditionsNow: MachineConditions {
    var conditions = conditions(hour)
    conditions.isConnected = isOnline
    return conditions
  }

  /// The conditions are told where they have changed.
  private mutating func look() {
    guard conditionsNow != present else { return }
    present = conditionsNow
    for id in transfers.keys.sorted() {
      guard let transfer = transfers[id], transfer.isDiscretionary, transfer.ended == nil else { continue }
      if transfer.machine.isHeldByConditions {
        handle(.conditionsChanged, id)
      } else if transfer.run != nil, case .discretionary(let bar)? = delay(of: transfer)?.reason, bar.stopsRuns {
        handle(.conditionsWorsened, id)
      }
    }
    choose()
  }

  /// Until a transfer that can wait may run; nil where it may now.
  private func delay(of transfer: SimulatedTransfer) -> Scheduler.Delay? {
    guard transfer.isDiscretionary else { return nil }
    if let until = transfer.pausedUntil, until > now { return .init(until: .instant(until), reason: .poorThroughput) }
    let facts = DiscretionaryRule.Transfer(
      age: now - transfer.created, limit: transfer.limit, expectedBytes: transfer.size - transfer.offset)
    guard case .wait(let reason, let seconds) = DiscretionaryRule.verdict(present, for: facts) else { return nil }
    return .init(until: .instant(now + seconds), reason: reason)
  }

  // MARK: Limits

  /// Gives each run its part of what the limits allow.
  private mutating func share() {
    let minute = Int(hour * 60)
    isLimited = limits[.service]?.rate(minute: minute) != nil
    let receiving = running.compactMap { transfers[$0] }.filter { $0.run?.hasBytes == true }
    var counts: [LimitSubject: Int] = [.service: receiving.count]
    for transfer in receiving { counts[.app(transfer.app), default: 0] += 1 }
    for transfer in receiving {
      guard let server = servers[transfer.host], server.bytesPerSecond > 0 else { continue }
      let rates = [LimitSubject.service, .app(transfer.app)].compactMap { subject in
        limits[subject]?.rate(minute: minute).map { Double($0) / Double(counts[subject] ?? 1) }
      }
      transfers[transfer.id]?.run?.part = min(1, (rates.min() ?? .infinity) / server.bytesPerSecond)
    }
  }

  private mutating func receive(for seconds: TimeInterval) {
    if isLimited { limited.seconds += seconds }
    for id in running {
      guard let transfer = transfers[id], let run = transfer.run, let server = servers[transfer.host] else { continue }
      let before = server.received(from: run.offset, of: transfer.size, after: run.elapsed)
      transfers[id]?.run?.elapsed += seconds * run.part
      let after = server.received(from: run.offset, of: transfer.size, after: run.elapsed + seconds * run.part)
      if isLimited { limited.bytes += Double(after - before) }
    }
  }

  private mutating func loseConnections() {
    for id in running.sorted() {
      guard let run = transfers[id]?.run else { continue }
      finishRun(id, .lost(.networkConnectionLost, at: run.offset + run.told))
    }
    choose()
  }

  private mutating func networkChanged() {
    networkChanges.append(now)
    for id in transfers.keys.sorted() where transfers[id]?.ended == nil { handle(.networkChanged, id) }
    choose()
  }

  // MARK: The service

  private mutating func choose() {
    while scheduler.isDecisionDue {
      decisions += 1
      let decision = scheduler.decide(now: now, date: date)
      for id in decision.stop { handle(.gaveWay, id) }
      for id in decision.start {
        var readiness = TransferMachine.Readiness.start(TransferMachineTests.start)
        if let transfer = transfers[id], let delay = delay(of: transfer) { readiness = .held(delay) }
        handle(.chosen(readiness), id)
      }
      wakeAt = decision.wakeAfter.map { now + min(max($0, 0.001), 30) }
      expectLimits()
    }
  }

  private mutating func handle(_ event: TransferMachine.Event, _ id: TransferID) {
    let moment = Moment(now: now, date: date)
    let actions = transfers[id]?.machine.handle(event, at: moment) ?? []
    for action in actions { perform(action, id) }
    guard let transfer = transfers[id], transfer.ended == nil else { return deadlines[id] = nil }
    deadlines[id] = transfer.machine.mayRunOutOfTime ? transfer.created + transfer.limit : nil
  }

  private mutating func perform(_ action: TransferMachine.Action, _ id: TransferID) {
    guard let transfer = transfers[id] else { return }
    switch action {
    case .schedule(let delay):
      scheduler.add(
        .init(
          id: id, app: transfer.app, session: transfer.app, host: transfer.host, priority: transfer.priority,
          delay: delay, since: now))
    case .unschedule: scheduler.remove(id)
    case .run: begin(id)
    case .stopRun, .stopRunIfRepeatable: stopRun(id)
    case .writeEnd(let end):
      var hasFile = false
      if case .file = end { hasFile = true }
      transfers[id]?.ended = (now, hasFile)
      handle(.endWritten, id)
    default: break
    }
  }

  private mutating func begin(_ id: TransferID) {
    guard let transfer = transfers[id], let server = servers[transfer.host] else { return }
    transfers[id]?.starts.append(now)
    let tries = transfer.starts.count + 1
    var (seconds, end) = server.end(of: transfer.size, from: transfer.offset, tries: tries, hour: hour)
    if !isOnline { (seconds, end) = (0.1, .lost(.notConnectedToInternet, at: transfer.offset)) }
    // The run's own time-out.
    let remaining = transfer.created + transfer.limit - now
    if seconds > remaining { (seconds, end) = (max(0, remaining), .lost(.unsupportedURL, at: transfer.offset)) }
    transfers[id]?.run = .init(offset: transfer.offset, end: end, length: seconds)
    if transfer.isDiscretionary { transfers[id]?.throughput = ThroughputWatch(at: now, moved: transfer.offset) }
    running.insert(id)
  }

  private mutating func report() {
    for id in running.sorted() {
      guard let transfer = transfers[id], let run = transfer.run, let server = servers[transfer.host] else { continue }
      let received = server.received(from: run.offset, of: transfer.size, after: run.elapsed)
      let kept = server.kept(received, of: transfer.size)
      scheduler.moved(received - run.offset - run.told, loss: received - kept.count, of: id, at: now)
      transfers[id]?.run?.told = received - run.offset
      if kept.areProgress(beyond: transfer.machine.countedBytes) { handle(.progressed(kept), id) }
      expectRightTime(transfer)
      if transfers[id]?.throughput?.isTooSlow(moved: received, isHeldBack: run.part < 1, at: now) == true {
        transfers[id]?.pausedUntil = now + ThroughputWatch.pause
        handle(.conditionsWorsened, id)
      }
    }
  }

  private mutating func stopRun(_ id: TransferID) {
    guard let transfer = transfers[id], let run = transfer.run, let server = servers[transfer.host] else { return }
    let received = run.offset + run.told
    transfers[id]?.offset = server.hasRanges ? received : 0
    transfers[id]?.run = nil
    running.remove(id)
    handle(.runEnded(.stopped(received: received), jitter: 0), id)
  }

  private mutating func finishRun(_ id: TransferID, _ end: SimulatedEnd) {
    guard let transfer = transfers[id], let server = servers[transfer.host] else { return }
    transfers[id]?.run = nil
    running.remove(id)
    let failure = TransferFailure(domain: NSURLErrorDomain, code: -1, message: "It broke.")
    let jitter = Double.random(in: 0...1, using: &generator)
    switch end {
    case .finished:
      handle(.runEnded(.finished(TransferMachineTests.response, byteCount: transfer.size), jitter: jitter), id)
    case .refused(let offset):
      let kept = server.kept(offset, of: transfer.size)
      handle(
        .runEnded(.refused(PassingRefusal(status: 503, wait: 120), kept: kept, received: offset), jitter: jitter), id)
    case .lost(let code, let offset):
      let kept = server.kept(offset, of: transfer.size)
      transfers[id]?.offset = kept.count
      let failures = transfer.machine.failures + 1
      let verdict = RetryRule.verdict(on: code, mayRepeat: true, failures: failures)
      handle(
        .runEnded(
          verdict == .retry
            ? .retry(failure, kept: kept, received: offset) : .failed(failure, nil, received: offset), jitter: jitter),
        id)
    }
  }

  // MARK: What must always hold

  /// A transfer that can wait and is not small runs on battery, and over a network that costs money, only when much of its
  /// time is over. The parts are written down here once more.
  private func expectRightTime(_ transfer: SimulatedTransfer) {
    // A change is told at the end of a step.
    guard transfer.isDiscretionary, present == conditionsNow else { return }
    let part = (now - transfer.created) / transfer.limit
    let isLarge = transfer.size - transfer.offset > 1 << 20
    let isRight =
      !(present.network?.contains(.expensive) == true && part < 0.75)
      && !(isLarge && present.isOnBattery == true && part < 0.5)
      && !(isLarge && present.isBatteryLow == true && part < 0.75)
    if !isRight { Issue.record("transfer \(transfer.id) runs at \(seconds) s, after \(part) of its time") }
  }

  private func expectLimits() {
    let (limits, present) = (scheduler.limits, scheduler.running.keys.compactMap { transfers[$0] })
    let hosts = Dictionary(present.map { ($0.host, 1) }, uniquingKeysWith: +)
    if present.count > limits.total || hosts.values.contains(where: { $0 > limits.perHost }) {
      Issue.record("\(present.count) run at \(seconds) s: \(hosts)")
    }
    if running != Set(scheduler.running.keys) { Issue.record("the scheduler is wrong about what runs at \(seconds) s") }
  }
}
