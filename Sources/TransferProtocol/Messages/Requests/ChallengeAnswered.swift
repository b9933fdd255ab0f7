import Foundation

/// The answer of an app to a `ChallengeQuestion`. Its password is kept in the service's memory, or in the user's keychain
/// where the app asks for that, and never in the queue. Its private key is kept nowhere.
package struct ChallengeAnswered: Codable, Sendable, Equatable {
  package enum Disposition: Codable, Sendable, Equatable {
    case useCredential(Credential?)
    case performDefaultHandling
    case cancelAuthenticationChallenge
    case rejectProtectionSpace
    /// No delegate has a method for this: it is not asked such a thing again.
    case isLeftOut
  }

  package enum Credential: Codable, Sendable, Equatable {
    /// - persistence: of `URLCredential.Persistence`.
    /// - password: nil for the one that was proposed.
    case password(user: String, password: String?, persistence: UInt)
    /// The server is trusted.
    case trust
    /// Proves who the client is, for the connection that is being made.
    ///
    /// - chain: DER, the client's own certificate first.
    /// - privateKey: DER.
    case certificate(chain: [Data], privateKey: Data)
  }

  package var session: String
  package var number: UInt64
  package var disposition: Disposition

  package init(session: String, number: UInt64, disposition: Disposition) {
    self.session = session
    self.number = number
    self.disposition = disposition
  }
}

extension ChallengeAnswered.Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Without the password and the key, whatever prints a message.
  package var description: String {
    switch self {
    case .password(let user, _, let persistence): "password of \(user), persistence \(persistence)"
    case .trust: "trust"
    case .certificate(let chain, _): "client certificate, chain of \(chain.count)"
    }
  }

  package var debugDescription: String { description }

  package var customMirror: Mirror { Mirror(self, children: []) }
}
