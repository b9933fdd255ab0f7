import Foundation
import HTTPSemantics
import HTTPTransport

/// A credential in the form that one protection space wants: makes the values of Authorization (RFC 9110 §11.6.2).
///
/// Every request has one of its own, made by `forNextRequest` from that of a request that was let in before; what they
/// share is behind a lock.
protocol AuthenticationProof: AnyObject, Sendable {
  /// Whose connections the requests use: `none` where each request is authenticated by itself.
  var identity: ConnectionIdentity { get }
  /// The proof for another request.
  func forNextRequest() -> any AuthenticationProof
  /// Whether a request may carry it unasked.
  ///
  /// - Parameter target: The request target, of the origin form.
  func covers(_ target: String) -> Bool
  /// - Parameter request: Only what depends on it asks for it.
  /// - Returns: nil where the request carries no field of its own: its connection speaks for it.
  /// - Throws: A `URLError` when no value can be made.
  func fieldValue(for request: @autoclosure () -> ProvenRequest) throws -> String?
  /// The hash of the request's body that the next value depends on; nil where it depends on none.
  var bodyHash: DigestHash? { get }
  /// False where `prepare` must be awaited before the next request.
  var isPrepared: Bool { get }
  func prepare() async
  /// The next messages go through TLS to the server with this certificate, and are bound to it where the scheme can do
  /// that; nil without TLS.
  func bind(to certificate: ServerCertificate?)
  /// Prepares the first request. Returns false when there is no answer to the offer.
  func begin(with offer: AuthenticationOffer) async -> Bool
  /// Prepares the next request, where the server has asked again although the present one carried the proof.
  ///
  /// - Returns: Whether the same credential is worth another request: the server wants a fresh nonce, or the next step of
  ///   a conversation.
  func goesOn(after offers: [AuthenticationOffer]) async -> Bool
  /// The connection over which a conversation went on is gone.
  ///
  /// - Returns: Whether the conversation begins anew with the next request: a message that is made already is of no use.
  func restart() -> Bool
  /// The server has let the request in.
  ///
  /// - Returns: The rest of the server's proof, which the body of the response has to complete; nil where there is none.
  /// - Throws: A `URLError` when the server claims to know the credential and does not.
  func accepted(_ fields: HTTPFields) throws -> BodyProof?
}

extension AuthenticationProof {
  var identity: ConnectionIdentity { .none }
  var bodyHash: DigestHash? { nil }
  var isPrepared: Bool { true }
  func prepare() async {}
  func bind(to certificate: ServerCertificate?) {}
  func begin(with offer: AuthenticationOffer) async -> Bool { true }
  func goesOn(after offers: [AuthenticationOffer]) async -> Bool { false }
  func restart() -> Bool { false }
  func accepted(_ fields: HTTPFields) throws -> BodyProof? { nil }
}
