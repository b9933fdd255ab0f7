import Foundation
import Synchronization
import SystemServices

/// Holds the bytes of one run back: to the limits that hold for it, and to what leaves room for other traffic.
///
/// A run counts the bytes that it has, or has sent, and waits before it reads more, or sends more, so that they stay with the
/// kernel and the server, or in the file: the memory that a run uses does not grow.
package final class TransferPace: Sendable {
  private struct Yielding {
    var isOn: Bool
    var controller = YieldController()
    var bucket: TokenBucket?
    var bytesSinceSample = 0
    var sampled: BootInstant?
    var window: Int?
  }

  private struct Holding {
    /// nil while the next bytes may be read.
    var since: BootInstant?
    var total: TimeInterval = 0
  }

  private let gate: BandwidthGate
  private let path: [LimitSubject]
  private let clock: any ServiceClock
  private let yielding: Mutex<Yielding>
  private let holding = Mutex(Holding())

  /// Seconds until a wait is looked at again: limits are changed while runs wait.
  static let longestWait: TimeInterval = 0.25

  /// - Parameter yields: whether other traffic goes first.
  package init(gate: BandwidthGate, path: [LimitSubject], clock: any ServiceClock, yields: Bool) {
    self.gate = gate
    self.path = path
    self.clock = clock
    yielding = Mutex(Yielding(isOn: yields))
  }

  /// From now on other traffic goes first, or does so no longer.
  package func setYields(_ yields: Bool) {
    yielding.withLock { state in
      guard state.isOn != yields else { return }
      state = Yielding(isOn: yields)
    }
  }

  package var yields: Bool { yielding.withLock { $0.isOn } }

  /// Whether the run is slower than it could be.
  package var isHoldingBack: Bool {
    gate.isLimiting(path) || yielding.withLock { $0.bucket != nil }
  }

  /// These bytes have arrived, or are sent. Returns whether the delay of the connection is to be measured.
  func count(_ bytes: Int) -> Bool {
    gate.count(bytes, of: path)
    let now = clock.now
    return yielding.withLock { state in
      guard state.isOn else { return false }
      state.bytesSinceSample += bytes
      state.bucket?.take(bytes, at: now)
      return state.sampled.map { now - $0 >= YieldController.interval } ?? true
    }
  }

  /// - Parameter delay: seconds of a round trip.
  func measured(_ delay: TimeInterval) {
    let now = clock.now
    yielding.withLock { state in
      guard state.isOn else { return }
      defer { (state.sampled, state.bytesSinceSample) = (now, 0) }
      guard let sampled = state.sampled, now > sampled else { return }
      let throughput = Double(state.bytesSinceSample) / (now - sampled)
      state.controller.sample(delay: delay, throughput: throughput, at: now)
      state.window = state.controller.window(throughput: throughput)
      guard let rate = state.controller.rate else {
        state.bucket = nil
        return
      }
      if state.bucket == nil { state.bucket = TokenBucket(rate: rate, at: now) }
      state.bucket?.setRate(rate, at: now)
    }
  }

  /// How many bytes the other side may send before they are read, so that it soon slows down with this side, and the delay of the
  /// connection is measured all the time; nil: as many as the kernel finds right.
  var receiveWindow: Int? { yielding.withLock { $0.window } }

  /// At most so many bytes are sent at a time, so that they leave evenly, without long pauses between many; nil: as many as there
  /// are.
  var largestPiece: Int? {
    let rates = [gate.rate(of: path), yielding.withLock { $0.bucket?.rate }]
    return rates.compactMap(\.self).min().map { Int(max(1_024, min($0 * Self.pieceTime, 262_144))) }
  }

  /// Seconds of the rate.
  private static let pieceTime: TimeInterval = 0.1

  /// Seconds to wait before more bytes are read or sent and this is asked again; 0 for none.
  func wait() -> TimeInterval {
    let own = yielding.withLock { $0.bucket?.wait(at: clock.now) } ?? 0
    let seconds = max(own, gate.wait(of: path))
    let now = clock.now
    holding.withLock { state in
      if seconds > 0 {
        state.since = state.since ?? now
      } else if let since = state.since {
        state.total += now - since
        state.since = nil
      }
    }
    return min(seconds, Self.longestWait)
  }

  /// The run waits no longer, though it was to: `wait` is not asked again.
  func waitEnded() {
    let now = clock.now
    holding.withLock { state in
      guard let since = state.since else { return }
      state.total += now - since
      state.since = nil
    }
  }

  /// Seconds for which the run has read nothing because it was to wait.
  package func heldBackTime() -> TimeInterval {
    let now = clock.now
    return holding.withLock { $0.total + ($0.since.map { now - $0 } ?? 0) }
  }
}
