import Foundation
import HTTPSemantics
import HTTPTransport
import Synchronization

/// A conversation of three messages that authenticates a connection (MS-NLMP, MS-NTHT). The requests of one credential
/// share connections; each connection has a conversation of its own.
final class NTLMProof: AuthenticationProof {
  private enum Step {
    /// The connection may be authenticated already: nothing is said.
    case silent
    case negotiate
    case authenticate(NTLMChallengeMessage)
    /// Everything is said.
    case done
  }

  let identity: ConnectionIdentity
  private let user: NTLMIdentity
  private let targetName: String
  private let step: Mutex<Step>
  private let certificate = Mutex<ServerCertificate?>(nil)

  /// nil for a credential without a user name.
  init?(_ credential: URLCredential, host: String) {
    guard let name = credential.user else { return nil }
    identity = .authenticatedUser(UUID().uuidString)
    user = credential.withPassword { NTLMIdentity(name: name, password: $0) }
    targetName = "HTTP/" + host
    step = Mutex(.negotiate)
  }

  private init(next previous: NTLMProof) {
    (identity, user, targetName) = (previous.identity, previous.user, previous.targetName)
    step = Mutex(.silent)
  }

  func forNextRequest() -> any AuthenticationProof { NTLMProof(next: self) }

  /// The connection is authenticated, whatever is asked over it.
  func covers(_ target: String) -> Bool { true }

  func fieldValue(for request: @autoclosure () -> ProvenRequest) throws -> String? {
    let certificateHash = certificate.withLock { $0 }?.endPointHash
    let message: [UInt8]? = try step.withLock { step in
      switch step {
      case .silent: return nil
      case .done:
        // The request goes out again, perhaps over another connection.
        step = .silent
        return nil
      case .negotiate: return NTLMNegotiateMessage.bytes
      case .authenticate(let challenge):
        step = .done
        // 100 ns units since the start of 1601.
        let time = UInt64(max(0, Date().timeIntervalSince1970 + 11_644_473_600) * 10_000_000)
        let bytes = NTLMAuthenticateMessage.bytes(
          answering: challenge, identity: user, time: time,
          clientChallenge: (0..<8).map { _ in .random(in: 0 ... .max) }, targetName: targetName,
          certificateHash: certificateHash)
        guard let bytes else {
          throw ErrorMapping.make(
            .userAuthenticationRequired, because: "The server's NTLM challenge can't be answered with this user name.")
        }
        return bytes
      }
    }
    return message.map { "NTLM " + Data($0).base64EncodedString() }
  }

  func bind(to certificate: ServerCertificate?) { self.certificate.withLock { $0 = certificate } }

  func restart() -> Bool {
    step.withLock { step in
      switch step {
      case .silent, .negotiate: return false
      case .authenticate, .done:
        step = .negotiate
        return true
      }
    }
  }

  func goesOn(after offers: [AuthenticationOffer]) async -> Bool {
    for case .ntlm(let token) in offers {
      return step.withLock { step in
        switch (step, token) {
        case (.silent, nil): step = .negotiate
        case (.negotiate, let token?):
          guard let challenge = NTLMChallengeMessage(token) else { return false }
          step = .authenticate(challenge)
        default: return false
        }
        return true
      }
    }
    return false
  }
}
