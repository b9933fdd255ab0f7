import Foundation
import SystemServices

/// Which running transfers give way to those that wait, by these rules, in this order:
///
/// 1. A slow transfer beyond the reserve, at once.
/// 2. After its slice, one of an app that runs two more than the app that waits, or of any app where the latter runs none.
/// 3. After its slice, one of a lower priority of the same app; after a long slice, any one of the same app.
/// 4. Where an app runs none: one that would lose many bytes, after its slice.
///
/// Rules 2 and 3 take transfers that can be taken up again, or have few bytes. The slice of one that loses bytes is twice as
/// long after each such loss, so that it comes to its end. Slow transfers take turns in their reserve by longer slices. Only those
/// give way that are in the way: where a host is full, those from that host or its address, where the session's allowance is,
/// those of the session. Those that are aside are in no other app's way, and can't be stopped. One at a time gives way to each
/// app; its place is given by the usual order once it has stopped.
extension Scheduler {
  /// Finds out which running transfers are slow, and which have run for long. A transfer is told slow only while others wait.
  /// The time for which the service itself holds it back, to keep to a limit or to leave room for other traffic, does not
  /// count.
  mutating func judgeRates(at now: BootInstant) {
    let isContended = !waiting.isEmpty
    for id in running.keys {
      running[id]?.look(at: now)
      if let turn = running[id], !turn.isLong, now - turn.began >= limits.longSlice {
        changeTurn(id) { $0.isLong = true }
      }
      guard let turn = running[id], !turn.isParked, !turn.hasArrived, let rate = turn.bytesPerSecond(at: now),
        let isSlow = entries[id]?.isSlow, rate < limits.leastRate ? !isSlow && isContended : isSlow
      else { continue }
      change(id) { $0.isSlow.toggle() }
    }
  }

  /// Chooses the transfers that are to be stopped.
  mutating func giveWay(at now: BootInstant) -> [TransferID] {
    guard !waiting.isEmpty, mayAnyGiveWay(at: now) else { return [] }
    let served = Set(running.values.compactMap(\.givesWayTo))
    var stopped: [TransferID] = []
    for app in appsInOrder where !served.contains(app) {
      guard let id = concession(to: app, at: now) else { continue }
      let losesBytes = running[id]?.loss ?? 0 > 0
      running[id]?.givesWayTo = app
      if losesBytes { change(id) { $0.losses += 1 } }
      stopped.append(id)
    }
    return stopped
  }

  /// Most often none may, which is found out without a look at those that wait.
  private func mayAnyGiveWay(at now: BootInstant) -> Bool {
    let hasSurplus = slowCount > limits.slow
    return running.contains { id, turn in
      turn.mayGiveWay && (now - turn.began >= limits.slice || hasSurplus && entries[id]?.isSlow == true)
    }
  }

  private func concession(to app: AppID, at now: BootInstant) -> TransferID? {
    for (_, place) in waiting.heads(of: app).sorted(by: { $0.place < $1.place }) {
      if let entry = entries[place.id], let id = concession(to: entry, at: now) { return id }
    }
    return nil
  }

  private func concession(to entry: Entry, at now: BootInstant) -> TransferID? {
    let rivals = rivals(of: entry)
    guard !rivals.isEmpty else { return nil }
    let isSurplus = entry.isSlow && !hasReserve
    let movable = rivals.filter { $0.turn.mayGiveWay }
    if !isSurplus, slowCount > limits.slow, let slow = movable.filter(\.entry.isSlow).min(by: { $0.precedes($1) }) {
      return slow.id
    }
    let counts = Dictionary(rivals.map { ($0.entry.candidate.app, 1) }, uniquingKeysWith: +)
    let own = counts[entry.candidate.app] ?? 0
    let slice = isSurplus ? limits.slowSlice : limits.slice
    let ready = movable.filter { rival in
      let (age, candidate, isCostly) = (now - rival.turn.began, rival.entry.candidate, rival.turn.isCostly)
      guard age >= rival.patience(slice) else { return false }
      guard candidate.app == entry.candidate.app else {
        return own == 0 || !isCostly && (counts[candidate.app] ?? 0) >= own + 2
      }
      guard isSurplus || !isCostly, rank(entry, since: entry.since) < rank(rival.entry, since: now) else {
        return false
      }
      return isSurplus || candidate.priority < entry.candidate.priority || age >= limits.longSlice
    }
    return ready.min { left, right in
      if left.turn.isCostly != right.turn.isCostly { return right.turn.isCostly }
      if left.turn.isCostly, left.turn.loss != right.turn.loss { return left.turn.loss < right.turn.loss }
      let shares = (counts[left.entry.candidate.app] ?? 0, counts[right.entry.candidate.app] ?? 0)
      return shares.0 != shares.1 ? shares.0 > shares.1 : left.precedes(right)
    }?.id
  }

  private struct Rival {
    let id: TransferID
    let entry: Entry
    let turn: Turn

    func precedes(_ other: Rival) -> Bool {
      turn.began != other.turn.began ? turn.began < other.turn.began : id < other.id
    }

    /// Each loss doubles the slice of one that would lose bytes again, so that also a slow one comes to its end.
    func patience(_ slice: TimeInterval) -> TimeInterval {
      turn.loss > 0 ? slice * TimeInterval(1 << min(entry.losses, 5)) : slice
    }
  }

  /// The running transfers that keep one from starting; none, where it only waits for others to have stopped.
  private func rivals(of entry: Entry) -> [Rival] {
    let candidate = entry.candidate
    let isSurplus = entry.isSlow && !hasReserve
    let full = servers(of: candidate.host).filter { isFull($0, for: candidate.app) }
    // An app that has all that one may have at a server could not use the place of another one's transfer.
    let isOwn = full.contains { counts.of(app: candidate.app, at: $0) >= limits.perHost }
    let (isSessionFull, isAppFull) = (isSessionFull(entry), isFull(candidate.app))
    guard isFull || !full.isEmpty || isSessionFull || isAppFull else { return [] }
    return running.compactMap { id, turn in
      guard let other = entries[id], !isAside(id, turn) else { return nil }
      if !full.isEmpty || isSessionFull, turn.hasArrived { return nil }
      if isSessionFull, other.candidate.host != candidate.host { return nil }
      if !full.allSatisfy({ run(other, turn).servers.contains($0) }) { return nil }
      if isSessionFull, other.candidate.session != candidate.session { return nil }
      if isOwn || isAppFull, other.candidate.app != candidate.app { return nil }
      if isSurplus, !other.isSlow { return nil }
      return Rival(id: id, entry: other, turn: turn)
    }
  }
}
