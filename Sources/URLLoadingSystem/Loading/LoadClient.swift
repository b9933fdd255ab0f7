import Foundation
import HTTPSemantics

/// Whoever a load works for: a session's task, or the transfer service. The pipeline asks and tells it, on the
/// load's event loop; an `async` question may be answered from anywhere and suspends the load until then.
package protocol LoadClient: AnyObject, Sendable {
  /// A redirect is about to be followed. Return the request to follow with, or nil to take the 3xx as the result.
  func load(_ context: LoadContext, willFollow newRequest: URLRequest, from response: HTTPURLResponse) async throws
    -> URLRequest?
  /// The pipeline now works on this request (after a redirect, after a stage changed it).
  func load(_ context: LoadContext, isUsing request: URLRequest)
  /// A 1xx response other than 101 arrived.
  func load(_ context: LoadContext, didReceiveInformational response: HTTPURLResponse) async throws
  /// Body bytes were handed to the socket. `expected` is -1 when the length is unknown.
  func load(_ context: LoadContext, didSendBodyBytes count: Int64, total: Int64, expected: Int64)
  /// There is no network; the load waits for one. Told at most once.
  func loadIsWaitingForConnectivity(_ context: LoadContext)
  /// The body's stream is needed (again). nil means that the client has none.
  func load(_ context: LoadContext, needsBodyStreamFrom offset: Int64) async throws -> SendableInputStream?
}

extension LoadClient {
  package func load(_ context: LoadContext, willFollow newRequest: URLRequest, from response: HTTPURLResponse)
    async throws -> URLRequest?
  { newRequest }
  package func load(_ context: LoadContext, isUsing request: URLRequest) {}
  package func load(_ context: LoadContext, didReceiveInformational response: HTTPURLResponse) async throws {}
  package func load(_ context: LoadContext, didSendBodyBytes count: Int64, total: Int64, expected: Int64) {}
  package func loadIsWaitingForConnectivity(_ context: LoadContext) {}
  package func load(_ context: LoadContext, needsBodyStreamFrom offset: Int64) async throws -> SendableInputStream? {
    nil
  }
}
