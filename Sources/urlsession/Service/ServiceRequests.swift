import TransferProtocol
import URLLoadingSystem

/// Takes a command's requests to the transfer service.
protocol ServiceRequests: Sendable {
  /// - Throws: the service's `Refusal`, or `ServiceUnavailable`.
  func request(_ request: ClientRequest) async throws -> ServiceReply
}

extension ServiceConnection: ServiceRequests {
  func request(_ request: ClientRequest) async throws -> ServiceReply {
    try await self.request(request, passing: [], meanwhile: {})
  }
}
