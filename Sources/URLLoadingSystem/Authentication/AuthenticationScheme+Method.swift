import HTTPSemantics

extension AuthenticationScheme {
  /// The constant of `URLProtectionSpace` for the scheme.
  var method: String {
    switch self {
    case .negotiate: NSURLAuthenticationMethodNegotiate
    case .ntlm: NSURLAuthenticationMethodNTLM
    case .digest: NSURLAuthenticationMethodHTTPDigest
    case .basic: NSURLAuthenticationMethodHTTPBasic
    case .bearer: NSURLAuthenticationMethodBearer
    }
  }
}
