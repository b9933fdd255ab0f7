import TransferProtocol

/// A conversation with the transfer service. Usable from any thread.
protocol TransferConnection: AnyObject, Sendable {
  /// Sends one request and waits for its reply. Requests are sent in the order of the calls from one event loop.
  ///
  /// - Throws: the service's `Refusal`, or `ServiceUnavailable` when the connection ends first.
  func request(_ request: ClientRequest) async throws -> ServiceReply
  func close()
}
