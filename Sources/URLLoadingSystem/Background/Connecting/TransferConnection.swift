import SystemServices
import TransferProtocol

/// A conversation with the transfer service. Usable from any thread.
protocol TransferConnection: AnyObject, Sendable {
  /// Sends one request, and the open files that it announces, and waits for its reply. Requests are sent in the order of
  /// the calls from one event loop.
  ///
  /// - Parameter meanwhile: done on the caller's thread while the service works: on the connection's loop once the request
  ///   is on its way, and before any message that comes after it is read.
  /// - Throws: the service's `Refusal`, or `ServiceUnavailable` when the connection ends first.
  func request(
    _ request: ClientRequest, passing files: [SourceFile], meanwhile: () -> Void
  ) async throws -> ServiceReply
  func close()
  /// The version of the protocol that both sides speak.
  var version: Int { get }
}

extension TransferConnection {
  var version: Int { ProtocolVersions.ofApp.maximum }
}

extension TransferConnection {
  func request(
    _ request: ClientRequest, passing files: [SourceFile] = []
  ) async throws -> ServiceReply { try await self.request(request, passing: files) {} }
}
