import Foundation
import HTTPSemantics
import HTTPTransport

/// The client of a load: a session's task, or a transfer of the service. The pipeline asks and tells it, on the
/// load's event loop; an `async` question may be answered from anywhere and suspends the load until then.
package protocol LoadClient: AnyObject, Sendable {
  /// A redirect is about to be followed. Return the request to follow with, or nil to take the 3xx as the result.
  func load(_ context: LoadContext, willFollow newRequest: URLRequest, from response: HTTPURLResponse) async throws
    -> URLRequest?
  /// The pipeline now works on this request (after a redirect, after a stage changed it).
  func load(_ context: LoadContext, isUsing request: URLRequest)
  /// The next request goes over this exchange, which has its connection.
  func load(_ context: LoadContext, sendsOver exchange: any HTTPExchange)
  /// A 1xx response other than 101 arrived.
  func load(_ context: LoadContext, didReceiveInformational response: HTTPURLResponse)
  /// Body bytes were handed to the socket. `expected` is -1 when the length is unknown.
  func load(_ context: LoadContext, didSendBodyBytes count: Int64, total: Int64, expected: Int64)
  /// There is no network; the load waits for one. Told at most once.
  func loadIsWaitingForConnectivity(_ context: LoadContext)
  /// The body's stream is needed (again). nil means that the client has none.
  func load(_ context: LoadContext, needsBodyStreamFrom offset: Int64) async throws -> SendableInputStream?
  /// A server or a proxy wants a credential, or a server's certificates are to be judged. Throws only what aborts the
  /// load. Which delegate is asked depends on the method of the protection space: see `TaskDelivery.answer`.
  func load(_ context: LoadContext, didReceive challenge: URLAuthenticationChallenge) async throws -> ChallengeAnswer
  /// False when a challenge would certainly be answered with the default handling, so that it need not be made.
  func load(_ context: LoadContext, mayAnswerChallengesOf method: String) -> Bool
  /// The credential to use for a space where the app names none; nil for none. One without a password only proposes a
  /// user name. Throws only what aborts the load.
  func load(_ context: LoadContext, defaultCredentialFor space: URLProtectionSpace) async throws -> URLCredential?
  /// A server has let the load in with a credential that is to be kept.
  func load(_ context: LoadContext, keep credential: URLCredential, for space: URLProtectionSpace)
  /// The cookies for the present request, from a store of a class of the app's own.
  func load(_ context: LoadContext, cookiesIn storage: HTTPCookieStorage) async throws -> [HTTPCookie]?
  /// A response to the present request has set cookies, which a store of a class of the app's own is to keep.
  func load(_ context: LoadContext, keep cookies: [HTTPCookie], in storage: HTTPCookieStorage) async throws
  /// Whether responses are stored for this client.
  var storesResponses: Bool { get }
  /// The task that a subclass of `URLCache` is asked for; nil for none.
  var cachingTask: URLSessionDataTask? { get }
  /// The task that custom protocols are shown; nil for none.
  var protocolTask: URLSessionTask? { get }
  /// False when `load(_:willStore:)` would certainly give back what it gets.
  func loadMayChangeStoredResponse(_ context: LoadContext) -> Bool
  /// A response is about to be stored. Return it, another one to be stored in its place, or nil.
  func load(_ context: LoadContext, willStore response: CachedURLResponse) async throws -> CachedURLResponse?
  /// Whether what happens on the wire is to be recorded, for metrics.
  var wantsRecords: Bool { get }
}

extension LoadClient {
  package func load(_ context: LoadContext, willFollow newRequest: URLRequest, from response: HTTPURLResponse)
    async throws -> URLRequest?
  { newRequest }
  package func load(_ context: LoadContext, isUsing request: URLRequest) {}
  package func load(_ context: LoadContext, sendsOver exchange: any HTTPExchange) {}
  package func load(_ context: LoadContext, didReceiveInformational response: HTTPURLResponse) {}
  package func load(_ context: LoadContext, didSendBodyBytes count: Int64, total: Int64, expected: Int64) {}
  package func loadIsWaitingForConnectivity(_ context: LoadContext) {}
  package func load(_ context: LoadContext, needsBodyStreamFrom offset: Int64) async throws -> SendableInputStream? {
    nil
  }
  package func load(_ context: LoadContext, didReceive challenge: URLAuthenticationChallenge) async throws
    -> ChallengeAnswer
  { ChallengeAnswer() }
  package func load(_ context: LoadContext, mayAnswerChallengesOf method: String) -> Bool { false }
  package func load(_ context: LoadContext, defaultCredentialFor space: URLProtectionSpace) async throws
    -> URLCredential?
  { nil }
  package func load(_ context: LoadContext, keep credential: URLCredential, for space: URLProtectionSpace) {}
  package func load(_ context: LoadContext, cookiesIn storage: HTTPCookieStorage) async throws -> [HTTPCookie]? { nil }
  package func load(_ context: LoadContext, keep cookies: [HTTPCookie], in storage: HTTPCookieStorage) async throws {}
  package var wantsRecords: Bool { false }
  package var storesResponses: Bool { false }
  package var cachingTask: URLSessionDataTask? { nil }
  package var protocolTask: URLSessionTask? { nil }
  package func loadMayChangeStoredResponse(_ context: LoadContext) -> Bool { false }
  package func load(_ context: LoadContext, willStore response: CachedURLResponse) async throws -> CachedURLResponse? {
    response
  }
}
