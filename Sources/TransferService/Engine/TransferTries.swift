import Foundation
import SystemServices
import TransferProtocol

/// The latest tries of the latest transfers, for people who want to see what their requests came to. In memory alone: the
/// queue does not grow with them, and a new service knows none.
struct TransferTries: Sendable {
  private struct Entry {
    var known: TransferTry
    let began: BootInstant
    var isOver = false

    /// - Parameter total: Bytes that are there now.
    mutating func received(_ total: Int64) {
      guard known.sent == nil else {
        // The bytes of an upload's answer are not those of its file.
        known.received = total
        return
      }
      // The server began again from the first byte.
      if total < known.offset { known.offset = 0 }
      known.received = total - known.offset
    }

    /// - Parameters:
    ///   - total: Bytes of the file that are sent now.
    ///   - kept: those that the server has.
    mutating func sent(_ total: Int64, kept: Int64) {
      // The server says at the beginning of a try how much it has.
      if known.sent ?? 0 == 0 { known.offset = kept }
      if kept == 0 { known.offset = 0 }
      known.sent = max(0, total - known.offset)
    }
  }

  static let perTransfer = 20
  static let transfers = 500

  private var entries: [TransferID: [Entry]] = [:]
  /// By their first tries, for forgetting the oldest.
  private var order: [TransferID] = []

  mutating func began(_ id: TransferID, offset: Int64, at moment: Moment) {
    if entries[id] == nil {
      order.append(id)
      if order.count > TransferTries.transfers { entries[order.removeFirst()] = nil }
    }
    let entry = Entry(known: TransferTry(began: moment.date, offset: offset), began: moment.now)
    entries[id, default: []] = (entries[id] ?? []).suffix(TransferTries.perTransfer - 1) + [entry]
  }

  mutating func reported(_ report: DownloadReport, by id: TransferID, at moment: Moment) {
    update(id) { entry in
      switch report {
      case .responded(let response):
        entry.known.httpStatus = response.status
        if entry.known.responseAfter == nil { entry.known.responseAfter = moment.now - entry.began }
      case .resumed(let offset, _): entry.known.offset = offset
      case .progressed(let received, _, _): entry.received(received)
      case .sent(let sent, let kept): entry.sent(sent.count, kept: kept.count)
      case .measured(let requests):
        entry.known.phases = TransferTry.phases(of: requests, since: entry.known.began)
      case .arrived, .awaitsStorage, .asked, .connected: break
      }
    }
  }

  mutating func ended(_ outcome: DownloadOutcome, of id: TransferID, because sentence: String, at moment: Moment) {
    update(id) { entry in
      entry.isOver = true
      entry.known.duration = moment.now - entry.began
      entry.known.end = sentence
      switch outcome {
      case .finished, .stopped: break
      default: entry.known.failed = true
      }
      if case .refused(let refusal, _, _) = outcome { entry.known.httpStatus = refusal.status }
      // No more than was heard of: a part that can't be kept is counted as nothing afterwards.
      let before = entry.known.sent == nil ? entry.known.offset : 0
      if let received = outcome.received, received > before { entry.received(received) }
    }
  }

  /// Oldest first.
  func latest(_ id: TransferID, at moment: Moment) -> [TransferTry] {
    (entries[id] ?? []).map { entry in
      var known = entry.known
      if !entry.isOver { known.duration = moment.now - entry.began }
      return known
    }
  }

  private mutating func update(_ id: TransferID, _ change: (inout Entry) -> Void) {
    guard var list = entries[id], var last = list.popLast(), !last.isOver else { return }
    change(&last)
    entries[id] = list + [last]
  }
}

extension TransferEngine {
  /// A transfer in full, with its tries.
  func detailedSnapshot(_ stored: StoredTransfer) -> TransferSnapshot {
    var snapshot = snapshot(stored)
    snapshot.tries = tries.latest(stored.head.id, at: Moment(clock))
    return snapshot
  }
}
