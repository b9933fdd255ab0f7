import Foundation

/// Chooses the place for the user's permanent secrets.
package enum UserSecrets {
  /// The user's keychain where this session has one; else the file that the user asked for with
  /// `URLSESSION_SECRETS_FILE`; else nil: then no secret outlives the process.
  ///
  /// Connects to the keychain to see whether it is there; the answer holds for a while, so callers keep it.
  ///
  /// - Parameter asksUser: whether locked items may make the keychain ask the user.
  package static func store(
    asksUser: Bool = true, environment: [String: String] = ProcessInfo.processInfo.environment
  ) async -> (any SecretStore)? {
    let keychain = SecretServiceStore(asksUser: asksUser)
    if await keychain.isPresent() { return keychain }
    return FileSecretStore(environment: environment)
  }
}
