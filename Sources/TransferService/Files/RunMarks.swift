import Foundation
import SystemServices

/// An empty file for each transfer that runs, so that the service that comes after a crash knows them.
///
/// They are not synchronised: they outlive the process, and a machine that fails is no fault of a transfer. Their names
/// say which start of the machine they are of.
struct RunMarks: Sendable {
  let directory: String
  let disk: any DurableFileSystem
  let bootID: String

  private func path(_ transfer: TransferID) -> String { "\(directory)/\(transfer).\(bootID)" }

  func set(_ transfer: TransferID) throws { try disk.open(path(transfer)).close() }

  func clear(_ transfer: TransferID) throws { try disk.remove(path(transfer)) }

  /// Removes all of them.
  ///
  /// - Parameter failed: Called with each that can't be removed. It does not count, now and at the next start.
  /// - Returns: The transfers that ran when the process ended, since this start of the machine.
  func takeAll(failed: (String, any Error) -> Void = { _, _ in }) throws -> Set<TransferID> {
    var transfers: Set<TransferID> = []
    for name in try disk.names(in: directory) {
      do { try disk.remove("\(directory)/\(name)") } catch {
        failed(name, error)
        continue
      }
      let parts = name.split(separator: ".", maxSplits: 1)
      guard parts.count == 2, parts[1] == bootID, let transfer = TransferID(String(parts[0])) else { continue }
      transfers.insert(transfer)
    }
    return transfers
  }
}
