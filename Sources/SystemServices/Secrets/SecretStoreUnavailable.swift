/// Why a store of secrets gave or took nothing. Its sentence is for people, and holds no secret.
package struct SecretStoreUnavailable: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, Equatable {
    /// A library that is loaded at run time is not installed.
    case noLibrary(String)
    /// There is no message bus of the user's session.
    case noBus
    /// The bus has no Secret Service, or it could not be started.
    case noService(String)
    /// The service takes secrets only as they are, for every program that watches the bus.
    case noEncryption
    /// The items are locked, and the user did not unlock them or could not be asked.
    case locked
    case expired(Duration)
    /// The service refused, or its connection ended in the middle.
    case failed(String)
    /// The file of secrets cannot be trusted.
    case untrustedFile(String)
    /// The file of secrets is not in the form that is written here.
    case damagedFile(String)
  }

  package let reason: Reason

  package init(_ reason: Reason) { self.reason = reason }

  package var description: String {
    switch reason {
    case .noLibrary(let name): "the keychain is not available: \(name) is not installed"
    case .noBus: "the keychain is not available: this session has no D-Bus message bus"
    case .noService(let text): "the keychain is not available: there is no Secret Service: \(text)"
    case .noEncryption: "the keychain is not used: it offers no encrypted session"
    case .locked: "the keychain is locked, and was not unlocked"
    case .expired(let limit): "the keychain did not answer within \(limit)"
    case .failed(let text): "the keychain failed: \(text)"
    case .untrustedFile(let text): "the file of secrets is not used: \(text)"
    case .damagedFile(let path): "the file of secrets \(path) is damaged; remove it to begin a new one"
    }
  }
}
