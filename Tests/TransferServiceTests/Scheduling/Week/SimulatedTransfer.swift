import Foundation
import SystemServices

@testable import TransferService

/// A transfer of the simulation, with the machine and what the test counts.
struct SimulatedTransfer {
  struct Run {
    let offset: Int64
    let end: SimulatedEnd
    /// Seconds that it takes where no limit holds it back.
    let length: TimeInterval
    /// How many of them have passed: fewer than of the clock where a limit holds it back.
    var elapsed: TimeInterval = 0
    /// The part of the server's rate that limits leave to it now.
    var part: Double = 1
    /// Bytes that the scheduler was told of.
    var told: Int64 = 0

    /// Whether bytes come until its end: only those can be held back.
    var hasBytes: Bool {
      switch end {
      case .finished: true
      case .lost(_, let end): end > offset
      case .refused: false
      }
    }

    /// Seconds until its end, as things are.
    var rest: TimeInterval { max(0, length - elapsed) / part }
  }

  let id: TransferID
  let app: AppID
  let host: String
  let size: Int64
  let priority: Float
  let created: BootInstant
  /// Seconds for the whole resource.
  let limit: TimeInterval
  /// It can wait.
  let isDiscretionary: Bool

  var machine = TransferMachine()
  var run: Run?
  /// Measures the present run of one that can wait.
  var throughput: ThroughputWatch?
  /// It was too slow, and is not tried before.
  var pausedUntil: BootInstant?
  /// Bytes on the disk.
  var offset: Int64 = 0
  /// When it was started.
  var starts: [BootInstant] = []
  var ended: (at: BootInstant, hasFile: Bool)?
}
