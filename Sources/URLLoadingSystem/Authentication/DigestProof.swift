import Foundation
import HTTPSemantics
import Synchronization

/// A user name and the proof of knowing the password (RFC 7616). Used by one load alone, but for the conversation.
final class DigestProof: AuthenticationProof {
  /// The nonce and its count, which the requests of one credential share.
  private final class Conversation: Sendable {
    let state: Mutex<DigestConversation>

    init(_ conversation: DigestConversation) { state = Mutex(conversation) }
  }

  private struct Request {
    /// The value of the last request.
    var authorization: DigestAuthorization?
    var renewals = 0
  }

  private let conversation: Conversation
  private let scope: AuthenticationScope?
  private let fromProxy: Bool
  private let request = Mutex(Request())

  /// nil when the user name can't be sent.
  ///
  /// - Parameter scope: nil for a proxy, whose space is all that it serves.
  init?(_ credential: URLCredential, for challenge: DigestChallenge, scope: AuthenticationScope?) {
    guard
      let conversation = credential.withPassword({ password in
        DigestConversation(answering: challenge, username: credential.user ?? "", password: password)
      })
    else { return nil }
    self.conversation = Conversation(conversation)
    self.scope = scope
    fromProxy = scope == nil
  }

  private init(next previous: DigestProof) {
    conversation = previous.conversation
    scope = previous.scope
    fromProxy = previous.fromProxy
  }

  func forNextRequest() -> any AuthenticationProof { DigestProof(next: self) }

  func covers(_ target: String) -> Bool { scope?.contains(requestTarget: target) ?? true }

  var bodyHash: DigestHash? {
    conversation.state.withLock { $0.needsBodyHash ? $0.challenge.algorithm.hash : nil }
  }

  func fieldValue(for request: @autoclosure () -> ProvenRequest) throws -> String? {
    let request = request()
    let clientNonce = DigestConversation.clientNonce((0..<16).map { _ in .random(in: 0 ... .max) })
    let authorization = try conversation.state.withLock { conversation in
      var bodyHash: String?
      if conversation.needsBodyHash {
        bodyHash = request.bodyHash ?? request.body.map { conversation.challenge.algorithm.hash.hex(Array($0)) }
        guard bodyHash != nil else {
          throw ErrorMapping.make(
            .userAuthenticationRequired,
            because:
              "The server wants a digest of the request's body (auth-int), which is a stream: it can be read once.")
        }
      }
      return conversation.authorization(
        method: request.method, target: request.target, clientNonce: clientNonce, bodyHash: bodyHash)
    }
    self.request.withLock { $0.authorization = authorization }
    return authorization?.fieldValue
  }

  /// A nonce that was too old is replaced without asking the app.
  func goesOn(after offers: [AuthenticationOffer]) async -> Bool {
    request.withLock { request in
      guard let authorization = request.authorization else { return false }
      for case .digest(let challenge) in offers
      where DigestConversation.isRenewal(challenge, of: authorization, renewals: request.renewals) {
        guard conversation.state.withLock({ $0.renew(with: challenge) }) else { continue }
        request.renewals += 1
        return true
      }
      return false
    }
  }

  func accepted(_ fields: HTTPFields) throws -> BodyProof? {
    let information = AuthenticationInformation(fields, fromProxy: fromProxy)
    let authorization = request.withLock { $0.authorization }
    let verdict = authorization?.verdict(on: information) ?? .absent
    let isBehindBody =
      information == nil && AuthenticationInformation.isTrailer(announcedBy: fields, fromProxy: fromProxy)
    guard verdict == .needsBodyHash || isBehindBody else {
      try take(verdict, information)
      return nil
    }
    return BodyProof(hash: hash) { [self] bodyHash, trailers in
      let information =
        information ?? trailers.flatMap { AuthenticationInformation($0, fromProxy: fromProxy) }
      // Other answers may have brought newer nonces while the body came.
      let isCurrent = conversation.state.withLock { $0.nonce == authorization?.nonce }
      let verdict = authorization?.verdict(on: information, bodyHash: bodyHash) ?? .invalid
      try take(verdict, isCurrent ? information : nil)
    }
  }

  private var hash: DigestHash { conversation.state.withLock { $0.challenge.algorithm.hash } }

  private func take(_ verdict: DigestVerdict, _ information: AuthenticationInformation?) throws {
    guard verdict != .invalid else {
      throw ErrorMapping.make(
        .userAuthenticationRequired,
        because: "The server claims to know the password and does not: its Authentication-Info is wrong.")
    }
    conversation.state.withLock { $0.note(information) }
  }
}
