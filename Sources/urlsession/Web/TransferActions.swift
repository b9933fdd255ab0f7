import TransferProtocol
import URLLoadingSystem
import WebPage

/// The actions of the page, as requests to the transfer service.
enum TransferActions {
  /// The page shows the buttons of these alone.
  struct Abilities: Encodable, Sendable {
    var pauses: Bool
    var limits: Bool
  }

  static let abilities = Abilities(pauses: true, limits: true)

  /// - Throws: the service's `Refusal`.
  static func perform(_ action: WebAction, over connection: ServiceConnection) async throws {
    switch action {
    case .cancel(let transfer):
      _ = try await connection.request(.cancelTransfer(TransferReference(transfer: transfer)))
    case .pause(let transfer):
      _ = try await connection.request(.holdTransfer(TransferReference(transfer: transfer)))
    case .resume(let transfer):
      _ = try await connection.request(.releaseTransfer(TransferReference(transfer: transfer)))
    case .retry(let transfer):
      _ = try await connection.request(.retryTransfer(TransferReference(transfer: transfer)))
    case .limit(let rate):
      let limit = LimitTransfers(subject: .service, limit: BandwidthLimit(bytesPerSecond: rate))
      _ = try await connection.request(.limit(limit))
    case .limitTransfer(let transfer, let rate):
      let limit = LimitTransfers(subject: .transfer(transfer), limit: BandwidthLimit(bytesPerSecond: rate))
      _ = try await connection.request(.limit(limit))
    }
  }
}
