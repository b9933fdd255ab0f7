import Foundation
import HTTPSemantics
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A machine with its network, servers and apps, in virtual time. What decides is real: the scheduler, the machines of the
/// transfers with their rule for retries, and the deadlines.
struct SimulatedLaptop {
  static let day: TimeInterval = 86_400
  private static let start = BootInstant(nanoseconds: 1_000_000_000)
  private static let midnight = Date(timeIntervalSince1970: 1_750_032_000)

  let servers: [String: SimulatedServer]
  private(set) var transfers: [TransferID: SimulatedTransfer] = [:]
  private(set) var decisions = 0
  private(set) var networkChanges: [BootInstant] = []

  private var scheduler = Scheduler()
  private var deadlines = ResourceDeadlines()
  private var generator = SeededGenerator(seed: 7)
  private var now = start
  private var isOnline = true
  private var wakeAt: BootInstant?
  private var running: Set<TransferID> = []

  init(_ servers: [String: SimulatedServer]) { self.servers = servers }

  var seconds: TimeInterval { now - SimulatedLaptop.start }
  private var date: Date { SimulatedLaptop.midnight + seconds }
  private var hour: Double { seconds.truncatingRemainder(dividingBy: SimulatedLaptop.day) / 3_600 }

  // MARK: What happens

  mutating func create(
    app: AppID, host: String, size: Int64, priority: Float = 0.5, limit: TimeInterval = 7 * day
  ) {
    let id = TransferID(transfers.count + 1)
    transfers[id] = SimulatedTransfer(
      id: id, app: app, host: host, size: size, priority: priority, created: now, limit: limit)
    handle(.queued(delay: nil), id)
    choose()
  }

  /// Time passes on this machine, with all that happens meanwhile.
  mutating func advance(to end: TimeInterval) {
    while seconds < end {
      var next = SimulatedLaptop.start + end
      for id in running { if let run = transfers[id]?.run { next = min(next, run.endsAt) } }
      if let wakeAt { next = min(next, wakeAt) }
      if let deadline = deadlines.earliest { next = min(next, deadline) }
      // Runs report while they receive.
      if !running.isEmpty { next = min(next, now + 60) }
      now = max(next, now + 0.001)
      report()
      for id in running.sorted() {
        if let run = transfers[id]?.run, run.endsAt <= now { finishRun(id, run.end) }
      }
      for id in deadlines.takeOverdue(at: now) { handle(.failed(.timedOut(""), nil), id) }
      if let wakeAt, wakeAt <= now { scheduler.clockMoved() }
      choose()
    }
  }

  /// The machine is asleep: nothing runs, and the clock goes on.
  mutating func sleep(until end: TimeInterval) {
    now = SimulatedLaptop.start + end
    loseConnections()
    networkChanged()
  }

  mutating func setOnline(_ isOnline: Bool) {
    self.isOnline = isOnline
    if !isOnline { loseConnections() }
    networkChanged()
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
      for id in decision.start { handle(.chosen(.start(TransferMachineTests.start)), id) }
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
    case .stopRun: stopRun(id)
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
    transfers[id]?.run = .init(began: now, offset: transfer.offset, endsAt: now + seconds, end: end, told: 0)
    running.insert(id)
  }

  private mutating func report() {
    for id in running {
      guard let transfer = transfers[id], let run = transfer.run, let server = servers[transfer.host] else { continue }
      let received = server.received(from: run.offset, of: transfer.size, after: now - run.began)
      let kept = server.kept(received, of: transfer.size)
      scheduler.moved(received - run.offset - run.told, loss: received - kept.count, of: id, at: now)
      transfers[id]?.run?.told = received - run.offset
      if kept.areProgress(beyond: transfer.machine.countedBytes) { handle(.progressed(kept), id) }
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
      let verdict = RetryRule.verdict(on: code, method: "GET", failures: failures)
      handle(
        .runEnded(
          verdict == .retry
            ? .retry(failure, kept: kept, received: offset) : .failed(failure, nil, received: offset), jitter: jitter),
        id)
    }
  }

  // MARK: What must always hold

  private func expectLimits() {
    let (limits, present) = (scheduler.limits, scheduler.running.keys.compactMap { transfers[$0] })
    let hosts = Dictionary(present.map { ($0.host, 1) }, uniquingKeysWith: +)
    if present.count > limits.total || hosts.values.contains(where: { $0 > limits.perHost }) {
      Issue.record("\(present.count) run at \(seconds) s: \(hosts)")
    }
    if running != Set(scheduler.running.keys) { Issue.record("the scheduler is wrong about what runs at \(seconds) s") }
  }
}
