/// The authentication schemes that can be answered, the strongest first.
///
/// Bearer is last although a token tells no password: no credential store can answer it, only an app that knows it. An
/// app that does not would otherwise never be asked for the password that it has.
package enum AuthenticationScheme: String, Sendable, Hashable, CaseIterable {
  /// Kerberos, or NTLM inside of SPNEGO (RFC 4559).
  case negotiate
  /// MS-NLMP, on a connection of its own (MS-NTHT).
  case ntlm
  case digest
  case basic
  case bearer

  /// Whether it authenticates a connection and not each request (RFC 4559 §6).
  package var isOfConnection: Bool {
    switch self {
    case .negotiate, .ntlm: true
    case .digest, .basic, .bearer: false
    }
  }

  /// The smaller, the stronger.
  var rank: Int { AuthenticationScheme.allCases.firstIndex(of: self) ?? AuthenticationScheme.allCases.count }
}
