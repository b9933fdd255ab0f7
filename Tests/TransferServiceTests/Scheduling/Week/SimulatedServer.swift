import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

@testable import TransferService

/// A server of the simulation, and how it treats each transfer.
struct SimulatedServer: Sendable {
  enum Kind: Sendable {
    case sends
    /// Ends each connection after so many bytes.
    case cuts(every: Int64)
    /// Answers nothing.
    case dead
    /// Asks so many times to come back in two minutes.
    case busy(times: Int)
  }

  var kind = Kind.sends
  var bytesPerSecond: Double
  var hasRanges = true
  /// It can't be reached between 22 and 6 o'clock.
  var sleepsAtNight = false

  /// When a try ends, in seconds, and how.
  func end(of size: Int64, from offset: Int64, tries: Int, hour: Double) -> (after: TimeInterval, SimulatedEnd) {
    if sleepsAtNight, hour < 6 || hour >= 22 { return (60, .lost(.timedOut, at: offset)) }
    switch kind {
    case .dead: return (60, .lost(.timedOut, at: offset))
    case .busy(let times) where tries <= times: return (0.3, .refused(at: offset))
    case .cuts(let every) where size - offset > every:
      return (delay + Double(every) / bytesPerSecond, .lost(.networkConnectionLost, at: offset + every))
    case .sends, .cuts, .busy: return (delay + Double(size - offset) / bytesPerSecond, .finished)
    }
  }

  private var delay: TimeInterval { 0.2 }

  func received(from offset: Int64, of size: Int64, after seconds: TimeInterval) -> Int64 {
    if case .dead = kind { return offset }
    return min(size, offset + Int64(max(0, seconds - delay) * bytesPerSecond))
  }

  func kept(_ received: Int64, of size: Int64) -> KeptBytes { KeptBytes(hasRanges ? received : 0, of: size) }
}

enum SimulatedEnd: Sendable {
  case finished
  case lost(URLError.Code, at: Int64)
  case refused(at: Int64)
}
