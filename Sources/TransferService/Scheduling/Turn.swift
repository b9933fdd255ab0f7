import Foundation
import SystemServices

/// A transfer's time to run, as the scheduler keeps it.
struct Turn: Sendable {
  let began: BootInstant
  private var rate: ArrivalRate
  /// Bytes that would have to travel again if it were stopped now.
  private(set) var loss: Int64 = 0
  /// Seconds for which the service itself has kept its bytes from travelling.
  var heldBackTime: TimeInterval = 0
  /// It waits for its app.
  private(set) var isParked = false
  /// All its bytes have arrived, and only the disk is waited for.
  var hasArrived = false
  /// It can be taken up again without harm; else it is not stopped for others.
  var isRepeatable = true
  /// It has run for a long slice.
  var isLong = false
  /// Of the machine that it is connected to, or will be as far as is known; nil where it is not known.
  var address: String?
  /// It was told to stop, for a transfer of this app.
  var givesWayTo: AppID?

  init(began: BootInstant, address: String? = nil) {
    self.began = began
    self.address = address
    rate = ArrivalRate(at: began)
  }

  /// Stopping it now costs more than it is worth, unless an app has nothing that runs.
  var isCostly: Bool { loss > KeptBytes.enough }
  var mayGiveWay: Bool { !isParked && !hasArrived && isRepeatable && givesWayTo == nil }

  mutating func moved(_ bytes: Int64, loss: Int64, at now: BootInstant) {
    rate.add(bytes, at: serverTime(at: now))
    self.loss = max(0, loss)
  }

  mutating func setParked(_ isParked: Bool, at now: BootInstant) {
    self.isParked = isParked
    // The wait for the app says nothing of the server.
    if !isParked { rate = ArrivalRate(at: serverTime(at: now)) }
  }

  mutating func look(at now: BootInstant) { rate.look(at: serverTime(at: now)) }

  /// Bytes a second while it was not held back; nil until that has been for long enough.
  func bytesPerSecond(at now: BootInstant) -> Double? { rate.perSecond(at: serverTime(at: now)) }

  /// An instant on a clock that stands still while the service holds the bytes back: such time says nothing of the server.
  private func serverTime(at now: BootInstant) -> BootInstant { now + -heldBackTime }
}
