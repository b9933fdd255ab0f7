/// The flags of an NTLM message (MS-NLMP §2.2.2.5), those that matter here.
struct NTLMFlags: OptionSet, Sendable, Hashable {
  let rawValue: UInt32

  /// Names are in UTF-16.
  static let unicode = NTLMFlags(rawValue: 0x0000_0001)
  /// The server names its domain or itself.
  static let requestTarget = NTLMFlags(rawValue: 0x0000_0004)
  static let ntlm = NTLMFlags(rawValue: 0x0000_0200)
  static let alwaysSign = NTLMFlags(rawValue: 0x0000_8000)
  static let extendedSessionSecurity = NTLMFlags(rawValue: 0x0008_0000)
  static let targetInformation = NTLMFlags(rawValue: 0x0080_0000)

  /// All that a client of HTTP needs: nothing is signed or sealed, so no session key is exchanged.
  static let offered: NTLMFlags = [.unicode, .requestTarget, .ntlm, .alwaysSign, .extendedSessionSecurity]
}
