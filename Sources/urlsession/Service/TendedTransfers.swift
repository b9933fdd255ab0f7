import Foundation
import TransferProtocol
import URLLoadingSystem

/// The transfers that a command does the same with, one after the other.
struct TendedTransfers: Sendable {
  let ids: [Int64]
  let isQuiet: Bool

  /// - Parameters:
  ///   - over: Said of a transfer that is over; nil where that is a failure.
  ///   - action: Asks the service, and says what became of the transfer. It is called for those that are not over.
  /// - Throws: `CommandFailure` when the service can't be asked or refuses, or, once all have had their turn, when one is
  ///   unknown or over.
  func each(
    over sentence: String? = nil, _ action: @Sendable (TransferStatus, ServiceConnection) async throws -> String
  ) async throws {
    var unknown: [Int64] = []
    var over: [Int64] = []
    do {
      let service = try await ServiceConnection.open()
      defer { service.close() }
      for id in ids {
        guard let status = try await service.transfer(id)?.status else {
          unknown.append(id)
          continue
        }
        guard status.state != .completed else {
          if let sentence { say(sentence, of: id) } else { over.append(id) }
          continue
        }
        say(try await action(status, service), of: id)
      }
    } catch { throw CommandFailure.service(error) }
    if !unknown.isEmpty { throw CommandFailure.unknown(transfers: unknown) }
    if !over.isEmpty { throw CommandFailure.over(transfers: over) }
  }

  private func say(_ result: String, of id: Int64) {
    if !isQuiet { StandardOutput.print("Transfer \(id): \(result)") }
  }
}
