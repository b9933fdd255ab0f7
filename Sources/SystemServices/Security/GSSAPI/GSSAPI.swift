import Foundation

/// GSS-API as far as this machine has it.
package enum GSSAPI {
  /// The threads of all calls.
  static let calls = BlockingCalls(name: "gssapi")

  /// Whether the library is installed. The first use reads it from the disk.
  package static var isAvailable: Bool { GSSLibrary.shared != nil }

  /// Whether the library, with the mechanisms that are installed beside it, has this one.
  package static func supports(_ mechanism: GSSMechanism) -> Bool {
    guard let library = GSSLibrary.shared else { return false }
    var set: GSSLibrary.IdentifierSet?
    var minor: UInt32 = 0
    guard library.indicateMechanisms(&minor, &set) & GSSError.errorMask == 0, let found = set else { return false }
    defer { _ = library.releaseIdentifiers(&minor, &set) }
    var isMember: CInt = 0
    _ = library.isMember(&minor, GSSIdentifier.of(mechanism).pointer, found, &isMember)
    return isMember != 0
  }

  /// Whether the user's default ticket cache (`KRB5CCNAME`) has a Kerberos ticket that is still valid. Where it has none,
  /// `Negotiate` is not worth an attempt without a password.
  ///
  /// Reads the cache, and asks no server unless a client keytab is set up. False when that takes longer than `limit`.
  package static func hasTicket(within limit: Duration = .seconds(5)) async -> Bool {
    let lifetime = try? await calls.run(within: limit) { try GSSCalls.run(findTicket) ?? 0 }
    return (lifetime ?? 0) > 0
  }

  /// For how long the ticket is valid, in seconds; 0 without one.
  private static func findTicket() throws -> UInt32 {
    guard let library = GSSLibrary.shared else { return 0 }
    var credential: GSSLibrary.Credential?
    var lifetime: UInt32 = 0
    try library.withSet(of: .kerberos) { set in
      // Asked for the lifetime, the library looks into the cache at once.
      _ = try library.check(.acquiring, .kerberos) {
        library.acquireCredential($0, nil, 0, set, GSSContext.initiates, &credential, nil, &lifetime)
      }
    }
    library.release(credential: credential)
    return lifetime
  }
}
