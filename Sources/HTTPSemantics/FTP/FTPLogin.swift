/// A user name and a password, as an FTP server is told them (RFC 959 §4.1.1).
package struct FTPLogin: Sendable, Hashable {
  private let userBytes: [UInt8]
  private let passwordBytes: [UInt8]

  /// nil when one of them has a line end or a NUL, which would end the command.
  package init?(user: [UInt8], password: [UInt8]) {
    guard !(user + password).contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { return nil }
    (userBytes, passwordBytes) = (user, password)
  }

  private init(named user: String, _ password: String) {
    (userBytes, passwordBytes) = (Array(user.utf8), Array(password.utf8))
  }

  /// The user without a name, whose password is, by custom, an address of mail (RFC 1635).
  package static let anonymous = FTPLogin(named: "anonymous", "anonymous@")

  package var user: FTPCommand { FTPCommand("USER", userBytes) }
  package var password: FTPCommand { FTPCommand("PASS", passwordBytes) }
}
