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
/// A running transfer that waits long for its app may be parked: then it keeps no other app's from running. An app has as
/// many running ones as the service, those included that are parked. So it is with a slow transfer that may not be asked
/// for once more. One of which all bytes have arrived needs its server no longer, so it takes no place of its host and of its
/// session while the disk is waited for.
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

  /// The session's allowance for a host is one for slow and other transfers together.
  struct SessionHost: Hashable {
    let session: SessionID
    let host: String
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
  private var runningPerHost: [String: Int] = [:]
  private var runningPerAddress: [String: Int] = [:]
  private var addresses = HostAddresses()
  private var runningPerSession: [SessionHost: Int] = [:]
  private var runningPerApp: [AppID: Int] = [:]
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
      countApp(of: entry, -1)
      if !turn.hasArrived { countHost(of: entry, turn, -1) }
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
    running[id]?.setParked(isParked, at: now)
    isDecisionDue = true
  }

  /// A running transfer may not be asked for once more, so that it is not stopped for others.
  package mutating func setRepeatable(_ isRepeatable: Bool, _ id: TransferID) {
    running[id]?.isRepeatable = isRepeatable
  }

  /// A running transfer needs its server no longer.
  package mutating func setArrived(_ id: TransferID) {
    guard let turn = running[id], !turn.hasArrived, let entry = entries[id] else { return }
    running[id]?.hasArrived = true
    countHost(of: entry, turn, -1)
    isDecisionDue = true
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
    guard turn.address != address else { return }
    running[id]?.address = address
    guard !turn.hasArrived else { return }
    if let former = turn.address { runningPerAddress.count(-1, at: former) }
    runningPerAddress.count(1, at: address)
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
    let hosts = runningPerHost
    addresses.forgetOld(at: now) { hosts[$0] != nil }
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
    let isHostFull = isHostFull(candidate.host)
    if entry.hasGivenWay, isFull || isHostFull { return .gaveWay }
    if entry.isSlow, isFull, !hasReserve { return .slow(limit: limits.slow) }
    if isFull || isFull(candidate.app) { return .serviceBusy(limit: limits.total) }
    if isHostFull {
      let host = isNameFull(candidate.host) ? candidate.host : fullAddress(of: candidate.host)
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
  private func isAside(_ id: TransferID, _ turn: Turn) -> Bool {
    turn.isParked || !turn.isRepeatable && entries[id]?.isSlow == true
  }

  var slowCount: Int { running.count { entries[$0.key]?.isSlow == true && !isAside($0.key, $0.value) } }
  /// Whether there is a place for one more slow transfer.
  var hasReserve: Bool { slowCount < limits.slow }

  func isFull(_ app: AppID) -> Bool { (runningPerApp[app] ?? 0) >= limits.total }
  func isHostFull(_ host: String) -> Bool { isNameFull(host) || fullAddress(of: host) != nil }

  func isNameFull(_ host: String) -> Bool { (runningPerHost[host] ?? 0) >= limits.perHost }

  /// The address to which the host leads, where as many transfers are connected as one host may have; nil where there is room.
  func fullAddress(of host: String) -> String? {
    guard let address = addresses[host], (runningPerAddress[address] ?? 0) >= limits.perHost else { return nil }
    return address
  }

  func isSessionFull(_ entry: Entry) -> Bool {
    let key = SessionHost(session: entry.candidate.session, host: entry.candidate.host)
    return (runningPerSession[key] ?? 0) >= entry.candidate.sessionLimit
  }

  // MARK: Order

  /// Apps with a waiting transfer, the next one first.
  var appsInOrder: [AppID] {
    waiting.appIDs.sorted { left, right in
      let counts = (runningPerApp[left] ?? 0, runningPerApp[right] ?? 0)
      if counts.0 != counts.1 { return counts.0 < counts.1 }
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
    for (lane, place) in waiting.heads(of: app) where isAllowed(lane) && !isHostFull(lane.host) {
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
      .filter { !isHostFull($0.candidate.host) && !isSessionFull($0) && !isFull($0.candidate.app) }
      .min { place($0) < place($1) }
  }

  // MARK: Changes

  private mutating func start(_ entry: Entry, at now: BootInstant, _ decision: inout Decision) {
    dequeue(entry)
    let begun = Turn(began: now, address: addresses[entry.candidate.host])
    running[entry.candidate.id] = begun
    countApp(of: entry, 1)
    countHost(of: entry, begun, 1)
    turn += 1
    lastServed[entry.candidate.app] = turn
    decision.start.append(entry.candidate.id)
  }

  private mutating func release(_ id: TransferID) {
    guard delayed.remove(id) != nil else { return }
    entries[id]?.candidate.delay = nil
    if let entry = entries[id] { enqueue(entry) }
  }

  /// Changes an entry, which may change its place.
  mutating func change(_ id: TransferID, _ change: (inout Entry) -> Void) {
    guard let entry = entries[id] else { return }
    isDecisionDue = true
    let isWaiting = running[id] == nil && !delayed.contains(id)
    if isWaiting { dequeue(entry) }
    var changed = entry
    change(&changed)
    entries[id] = changed
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

  private mutating func countApp(of entry: Entry, _ change: Int) {
    runningPerApp.count(change, at: entry.candidate.app)
  }

  /// With its address, and the session's allowance for it.
  private mutating func countHost(of entry: Entry, _ turn: Turn, _ change: Int) {
    let candidate = entry.candidate
    runningPerHost.count(change, at: candidate.host)
    if let address = turn.address { runningPerAddress.count(change, at: address) }
    runningPerSession.count(change, at: SessionHost(session: candidate.session, host: candidate.host))
  }
}

extension Dictionary where Value == Int {
  /// Keeps no zeros.
  fileprivate mutating func count(_ change: Int, at key: Key) {
    let sum = (self[key] ?? 0) + change
    self[key] = sum > 0 ? sum : nil
  }
}

extension Scheduler.Decision {
  fileprivate mutating func wake(in seconds: TimeInterval) { wakeAfter = min(wakeAfter ?? .infinity, seconds) }
}
