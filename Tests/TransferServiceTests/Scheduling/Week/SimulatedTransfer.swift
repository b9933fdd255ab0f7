import Foundation
import SystemServices

@testable import TransferService

/// A transfer of the simulation, with the machine and what the test counts.
struct SimulatedTransfer {
  struct Run {
    let began: BootInstant
    let offset: Int64
    let endsAt: BootInstant
    let end: SimulatedEnd
    /// Bytes that the scheduler was told of.
    var told: Int64
  }

  let id: TransferID
  let app: AppID
  let host: String
  let size: Int64
  let priority: Float
  let created: BootInstant
  /// Seconds for the whole resource.
  let limit: TimeInterval

  var machine = TransferMachine()
  var run: Run?
  /// Bytes on the disk.
  var offset: Int64 = 0
  /// When it was started.
  var starts: [BootInstant] = []
  var ended: (at: BootInstant, hasFile: Bool)?
}
