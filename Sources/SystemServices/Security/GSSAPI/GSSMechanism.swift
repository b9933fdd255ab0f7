/// A mechanism of GSS-API: how the two sides prove who they are.
package enum GSSMechanism: Sendable, Hashable, CaseIterable {
  /// SPNEGO (RFC 4178), which the `Negotiate` scheme of HTTP carries (RFC 4559): the two sides agree on Kerberos or NTLM.
  case negotiate
  /// Kerberos 5 (RFC 4121) alone.
  case kerberos
  /// NTLM, where gss-ntlmssp is installed. Reached through ``negotiate``.
  case ntlm

  /// The DER of the object identifier, without tag and length.
  var identifier: [UInt8] {
    switch self {
    case .negotiate: [0x2b, 0x06, 0x01, 0x05, 0x05, 0x02]  // 1.3.6.1.5.5.2
    case .kerberos: [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02]  // 1.2.840.113554.1.2.2
    case .ntlm: [0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a]  // 1.3.6.1.4.1.311.2.2.10
    }
  }
}
