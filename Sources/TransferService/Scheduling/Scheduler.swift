import Foundation
import SystemServices

/// Decides which transfers run. A value without clock and network: it is told of transfers, of their bytes and of the
/// time, and answers what to start, what to stop and when to ask again.
///
/// A transfer may start when its delay is over and neither the service, nor its host, nor its session's allowance for
/// that host is full. Among those, the app with the fewest running transfers goes first, and of apps with as many the
/// one that was served longest ago. Within an app the higher priority goes first, then the longer wait, which makes up
/// for a lower priority in time. Names that lead to one address are one host: that of a name is known from its last
/// connection. An app alone may have all that the service runs; a running transfer gives way to others
/// by the rules of `Scheduler+GivingWay.swift`.
///
/// A running transfer that waits long for its app may be parked: then it is aside, and keeps no other app's from running.
/// So it is with one that may not be stopped and is slow, or has run for long. An app has as many running ones as the service,
/// and as many at a server as a host has places, those included that are aside: `RunningCounts`. One of which all bytes have
/// arrived needs its server no longer, so it takes no place of its host and of its session while the disk is waited for.
///
/// After a crash, those that ran then are started one after the other. Each has a while or until its first bytes to
/// itself: no other one starts. Nor does one while the queue is told that those bytes came, for a crash in between would be
/// counted to the transfer that has shown to be no cause.
package struct Scheduler {
  struct Entry {
    var candidate: Candidate
    /// Its wait counts from here.
    var since: BootInstant
    /// Its server sent too few bytes while others waited.
    var isSlow = false
    /// How often it lost bytes by giving way. Each time it is left alone for twice as long.
    var losses = 0
    /// It ran, and gave way.
    var hasGivenWay = false
    var isSuspect: Bool

    var lane: WaitingLine.Lane { .init(session: candidate.session, host: candidate.host, isSlow: isSlow) }
  }

  let limits: Limits
  private(set) var entries: [TransferID: Entry] = [:]
  private var delayed: Set<TransferID> = []
  private(set) var waiting = WaitingLine()
  /// Those of the waiting ones that ran when the service crashed.
  private var suspects: Set<TransferID> = []
  /// Transfers whose acquittal is being written.
  private var acquittals: Set<TransferID> = []
  var running: [TransferID: Turn] = [:]
  private(set) var counts = RunningCounts()
  private var addresses = HostAddresses()
  private var lastServed: [AppID: UInt64] = [:]
  private var turn: UInt64 = 0
  /// Something changed since the last decision.
  package private(set) var isDecisionDue = true

  package init(limits: Limits = Limits()) { self.limits = limits }

  package var runningCount: Int { running.count }
  package var count: Int { entries.count }
  package func isRunning(_ id: TransferID) -> Bool { running[id] != nil }
  package func isSlow(_ id: TransferID) -> Bool { entries[id]?.isSlow ?? false }
  package func contains(_ id: TransferID) -> Bool { entries[id] != nil }

  // MARK: What it is told

  /// A transfer wants to run. One that is known already is replaced; a running one is counted as ended.
  package mutating func add(_ candidate: Candidate) {
    let known = entries[candidate.id]
    let turn = running[candidate.id]
    remove(candidate.id)
    isDecisionDue = true
    var entry = Entry(candidate: candidate, since: candidate.since, isSuspect: candidate.isSuspect)
    if let known {
      entry.since = known.since
      entry.isSlow = known.isSlow
      entry.losses = known.losses
      entry.hasGivenWay = known.hasGivenWay && turn == nil
    }
    if let turn, turn.givesWayTo != nil {
      entry.since = candidate.since
      entry.hasGivenWay = true
      if entry.isSlow, candidate.delay == nil {
        // It comes back after a pause, so that small transfers of others do not start and stop it all the time.
        let reason = WaitingReason.slow(limit: limits.slow)
        entry.candidate.delay = Delay(until: .instant(candidate.since + limits.slice), reason: reason)
      }
    }
    entries[candidate.id] = entry
    if entry.candidate.delay == nil { enqueue(entry) } else { delayed.insert(candidate.id) }
  }

  /// It ended, was suspended or is gone.
  package mutating func remove(_ id: TransferID) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    isDecisionDue = true
    if let turn = running.removeValue(forKey: id) {
      counts.remove(run(entry, turn))
    } else if delayed.remove(id) == nil {
      dequeue(entry)
    }
  }

  package mutating func setPriority(_ priority: Float, of id: TransferID) {
    guard entries[id]?.candidate.priority != priority else { return }
    change(id) { $0.candidate.priority = priority }
  }

  /// A running transfer waits for its app, or does so no longer.
  package mutating func setParked(_ isParked: Bool, _ id: TransferID, at now: BootInstant) {
    guard let turn = running[id], turn.isParked != isParked else { return }
    changeTurn(id) { $0.setParked(isParked, at: now) }
  }

  /// Whether a running transfer can be taken up again; else it is not stopped for others, and one that was told to stop may go on.
  package mutating func setRepeatable(_ isRepeatable: Bool, _ id: TransferID) {
    guard let turn = running[id], turn.isRepeatable != isRepeatable else { return }
    changeTurn(id) {
      $0.isRepeatable = isRepeatable
      if !isRepeatable { $0.givesWayTo = nil }
    }
  }

  /// A running transfer needs its server no longer.
  package mutating func setArrived(_ id: TransferID) {
    guard let turn = running[id], !turn.hasArrived else { return }
    changeTurn(id) { $0.hasArrived = true }
  }

  /// A running transfer has a connection to this address.
  ///
  /// - Parameter isOfHost: whether its host has the address, and not one that it was redirected to.
  package mutating func connected(
    _ id: TransferID, to address: String, isOfHost: Bool = true, at now: BootInstant
  ) {
    guard let turn = running[id], let entry = entries[id] else { return }
    if isOfHost { addresses.reached(entry.candidate.host, at: address, at: now) }
    // The address of its host may be another one than was known.
    isDecisionDue = true
    if turn.address != address { changeTurn(id) { $0.address = address } }
  }

  /// Bytes of a running transfer have travelled.
  ///
  /// - Parameter loss: how many bytes would have to travel again if it were stopped now.
  package mutating func moved(_ bytes: Int64, loss: Int64, of id: TransferID, at now: BootInstant) {
    running[id]?.moved(bytes, loss: loss, at: now)
  }

  /// The service itself keeps the bytes of a running transfer from travelling. It is told before `moved` and `decide`.
  ///
  /// - Parameter seconds: for how long in all, since the transfer started.
  package mutating func heldBack(for seconds: TimeInterval, _ id: TransferID) {
    running[id]?.heldBackTime = max(0, seconds)
  }

  /// A transfer that ran when the service crashed is no cause of that, which is being written to the queue. `endAcquittal`
  /// has to follow.
  package mutating func beginAcquittal(of id: TransferID) {
    acquittals.insert(id)
    acquit(id)
  }

  /// It is in the queue, or could not be written.
  package mutating func endAcquittal(of id: TransferID) {
    guard acquittals.remove(id) != nil else { return }
    isDecisionDue = true
  }

  /// Delays may be over.
  package mutating func clockMoved() { isDecisionDue = true }

  // MARK: What it answers

  package mutating func decide(now: BootInstant, date: Date) -> Decision {
    isDecisionDue = false
    var decision = Decision()
    forgetOldAddresses(at: now)
    for id in delayed {
      guard let delay = entries[id]?.candidate.delay else { continue }
      let remaining = delay.remaining(now: now, date: date)
      if remaining <= 0 { release(id) } else { decision.wake(in: remaining) }
    }
    judgeRates(at: now)
    if let remaining = remainingTrial(at: now) {
      decision.wake(in: remaining)
    } else if !acquittals.isEmpty {
      // The end of the acquittal leads to the next decision.
    } else if let suspect = nextSuspect() {
      start(suspect, at: now, &decision)
      decision.wake(in: limits.trial)
    } else {
      while let next = next() { start(next, at: now, &decision) }
      decision.stop = giveWay(at: now)
    }
    // Slices end and rates change by time alone, which is of use where one waits for them.
    if !waiting.isEmpty, !running.isEmpty { decision.wake(in: ArrivalRate.window / 2) }
    // The answer has the changes that were made here.
    isDecisionDue = false
    return decision
  }

  /// Why it does not run; nil when it does or is not known.
  package func waitingReason(of id: TransferID) -> WaitingReason? {
    guard let entry = entries[id], running[id] == nil else { return nil }
    let candidate = entry.candidate
    if delayed.contains(id), let delay = candidate.delay { return delay.reason }
    if entry.isSuspect || hasTrial { return .trial }
    let isHostFull = isHostFull(candidate.host, for: candidate.app)
    if entry.hasGivenWay, isFull || isHostFull { return .gaveWay }
    if entry.isSlow, isFull, !hasReserve { return .slow(limit: limits.slow) }
    if isFull || isFull(candidate.app) { return .serviceBusy(limit: limits.total) }
    if isHostFull {
      let host = isFull(.host(candidate.host), for: candidate.app) ? candidate.host : addresses[candidate.host]
      return .hostBusy(host: host ?? candidate.host, limit: limits.perHost)
    }
    if isSessionFull(entry) { return .sessionBusy(limit: candidate.sessionLimit) }
    return .turn
  }

  /// Seconds until its delay is over.
  package func remainingDelay(of id: TransferID, now: BootInstant, date: Date) -> TimeInterval? {
    guard delayed.contains(id) else { return nil }
    return entries[id]?.candidate.delay?.remaining(now: now, date: date)
  }

  // MARK: Room

  /// Whether the service is full. More are there for a while when one is parked no longer.
  var isFull: Bool { running.count { !isAside($0.key, $0.value) } >= limits.total }

  /// It runs and takes no other's place.
  func isAside(_ id: TransferID, _ turn: Turn) -> Bool { entries[id].map { isAside($0, turn) } ?? false }

  private func isAside(_ entry: Entry, _ turn: Turn) -> Bool {
    turn.isParked || !turn.isRepeatable && (entry.isSlow || turn.isLong)
  }

  var slowCount: Int { running.count { entries[$0.key]?.isSlow == true && !isAside($0.key, $0.value) } }
  /// Whether there is a place for one more slow transfer.
  var hasReserve: Bool { slowCount < limits.slow }

  func isFull(_ app: AppID) -> Bool { counts.of(app: app) >= limits.total }
  /// Whether an app may have no more at a server.
  func isFull(_ server: RunningCounts.Server, for app: AppID) -> Bool {
    counts.at(server, for: app) >= limits.perHost
  }

  func isHostFull(_ host: String, for app: AppID) -> Bool {
    isFull(.host(host), for: app) || addresses[host].map { isFull(.address($0), for: app) } ?? false
  }

  /// The host, and the address to which it leads where that is known.
  func servers(of host: String) -> [RunningCounts.Server] {
    [.host(host)] + (addresses[host].map { [.address($0)] } ?? [])
  }

  func isSessionFull(_ entry: Entry) -> Bool {
    let candidate = entry.candidate
    return counts.of(session: candidate.session, at: candidate.host) >= candidate.sessionLimit
  }

  // MARK: Order

  /// Apps with a waiting transfer, the next one first.
  var appsInOrder: [AppID] {
    waiting.appIDs.sorted { left, right in
      let shares = (counts.of(app: left), counts.of(app: right))
      if shares.0 != shares.1 { return shares.0 < shares.1 }
      let served = (lastServed[left] ?? 0, lastServed[right] ?? 0)
      return served.0 != served.1 ? served.0 < served.1 : left < right
    }
  }

  /// The place in its app's order of a transfer that has waited since then.
  func rank(_ entry: Entry, since: BootInstant) -> Int64 {
    let priority = entry.candidate.priority
    let advance = Double(priority.isFinite ? min(max(priority, 0), 1) : 0.5) * limits.ageing * 1e9
    let (rank, overflow) = since.nanoseconds.subtractingReportingOverflow(Int64(exactly: advance.rounded()) ?? 0)
    return overflow ? .min : rank
  }

  private func place(_ entry: Entry) -> WaitingLine.Place {
    .init(rank: rank(entry, since: entry.since), id: entry.candidate.id)
  }

  /// Slow transfers beyond their reserve come last.
  private func next() -> Entry? {
    guard !isFull else { return nil }
    let (apps, hasReserve) = (appsInOrder, hasReserve)
    func first(_ isAllowed: (WaitingLine.Lane) -> Bool) -> Entry? {
      for app in apps where !isFull(app) {
        if let entry = best(of: app, isAllowed) { return entry }
      }
      return nil
    }
    return first { !$0.isSlow || hasReserve } ?? (hasReserve ? nil : first { $0.isSlow })
  }

  private func best(of app: AppID, _ isAllowed: (WaitingLine.Lane) -> Bool) -> Entry? {
    var best: (place: WaitingLine.Place, entry: Entry)?
    for (lane, place) in waiting.heads(of: app) where isAllowed(lane) && !isHostFull(lane.host, for: app) {
      if let best, best.place < place { continue }
      guard let entry = entries[place.id], !isSessionFull(entry) else { continue }
      best = (place, entry)
    }
    return best?.entry
  }

  // MARK: Trials

  private var hasTrial: Bool {
    !acquittals.isEmpty || running.keys.contains { entries[$0]?.isSuspect == true }
  }

  /// Seconds for which the transfer that is on trial still runs alone; nil when there is none.
  private mutating func remainingTrial(at now: BootInstant) -> TimeInterval? {
    for (id, turn) in running where entries[id]?.isSuspect == true {
      let remaining = limits.trial - (now - turn.began)
      // A question of the server to the app may take long.
      if remaining > 0, !turn.isParked { return remaining }
      acquit(id)
    }
    return nil
  }

  private mutating func acquit(_ id: TransferID) {
    guard entries[id]?.isSuspect == true else { return }
    change(id) { $0.isSuspect = false }
  }

  private func nextSuspect() -> Entry? {
    guard !suspects.isEmpty, !isFull else { return nil }
    return suspects.compactMap { entries[$0] }
      .filter { entry in
        let (host, app) = (entry.candidate.host, entry.candidate.app)
        return !isHostFull(host, for: app) && !isSessionFull(entry) && !isFull(app)
      }
      .min { place($0) < place($1) }
  }

  // MARK: Changes

  private mutating func start(_ entry: Entry, at now: BootInstant, _ decision: inout Decision) {
    dequeue(entry)
    let begun = Turn(began: now, address: addresses[entry.candidate.host])
    running[entry.candidate.id] = begun
    counts.add(run(entry, begun))
    turn += 1
    lastServed[entry.candidate.app] = turn
    decision.start.append(entry.candidate.id)
  }

  private mutating func release(_ id: TransferID) {
    guard delayed.remove(id) != nil else { return }
    entries[id]?.candidate.delay = nil
    if let entry = entries[id] { enqueue(entry) }
  }

  /// Changes how a transfer runs, which may change where it counts.
  mutating func changeTurn(_ id: TransferID, _ change: (inout Turn) -> Void) {
    guard let entry = entries[id], var turn = running[id] else { return }
    isDecisionDue = true
    counts.remove(run(entry, turn))
    change(&turn)
    running[id] = turn
    counts.add(run(entry, turn))
  }

  func run(_ entry: Entry, _ turn: Turn) -> RunningCounts.Run {
    let candidate = entry.candidate
    return .init(
      app: candidate.app, session: candidate.session, host: candidate.host, address: turn.address,
      isAside: isAside(entry, turn), hasArrived: turn.hasArrived)
  }

  /// Changes an entry, which may change its place, and where it counts.
  mutating func change(_ id: TransferID, _ change: (inout Entry) -> Void) {
    guard let entry = entries[id] else { return }
    isDecisionDue = true
    let turn = running[id]
    let isWaiting = turn == nil && !delayed.contains(id)
    if isWaiting { dequeue(entry) }
    if let turn { counts.remove(run(entry, turn)) }
    var changed = entry
    change(&changed)
    entries[id] = changed
    if let turn { counts.add(run(changed, turn)) }
    if isWaiting { enqueue(changed) }
  }

  private mutating func enqueue(_ entry: Entry) {
    waiting.insert(place(entry), of: entry.candidate.app, in: entry.lane)
    if entry.isSuspect { suspects.insert(entry.candidate.id) }
  }

  private mutating func dequeue(_ entry: Entry) {
    waiting.remove(place(entry), of: entry.candidate.app, in: entry.lane)
    suspects.remove(entry.candidate.id)
  }

  /// Those of hosts without a connection: their names may lead elsewhere by now.
  private mutating func forgetOldAddresses(at now: BootInstant) {
    let (running, entries) = (running, entries)
    addresses.forgetOld(at: now) { host in
      running.contains { !$0.value.hasArrived && entries[$0.key]?.candidate.host == host }
    }
  }
}

extension Scheduler.Decision {
  fileprivate mutating func wake(in seconds: TimeInterval) { wakeAfter = min(wakeAfter ?? .infinity, seconds) }
}
