/// A user name and a password, as an FTP server is told them (RFC 959 §4.1.1).
package struct FTPLogin: Sendable, Hashable {
  private let userBytes: [UInt8]
  private let secret: OverwrittenBytes

  /// nil when one of them has a line end or a NUL, which would end the command.
  package init?(user: [UInt8], password: UnsafeRawBufferPointer) {
    guard !user.contains(where: FTPLogin.endsCommand), !password.contains(where: FTPLogin.endsCommand) else {
      return nil
    }
    userBytes = user
    secret = OverwrittenBytes(copying: password)
  }

  /// As above, with a password that is in ordinary memory.
  package init?(user: [UInt8], password: [UInt8]) {
    let login = password.withUnsafeBytes { FTPLogin(user: user, password: $0) }
    guard let login else { return nil }
    self = login
  }

  private init(named user: String, _ password: String) {
    (userBytes, secret) = (Array(user.utf8), OverwrittenBytes(password))
  }

  private static func endsCommand(_ byte: UInt8) -> Bool { byte == 0 || byte == 0x0A || byte == 0x0D }

  /// The user without a name, whose password is, by custom, an address of mail (RFC 1635).
  package static let anonymous = FTPLogin(named: "anonymous", "anonymous@")

  package var user: FTPCommand { FTPCommand("USER", userBytes) }

  package static let passwordVerb = "PASS"

  /// Calls `body` with the password, the argument of PASS. The pointer is valid in the call only.
  package func withPassword<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try secret.withBytes(body)
  }
}
