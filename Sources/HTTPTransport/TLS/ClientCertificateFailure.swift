import NIOSSL

/// Explains the end of a connection whose server has just asked for a client's certificate. In TLS 1.3 the client
/// is through with the handshake before the server has looked at its certificate, so the refusal comes later.
enum ClientCertificateFailure {
  /// nil when the failure has nothing to do with certificates.
  static func cause(of error: any Error, _ use: ClientCertificateUse) -> TransportError? {
    guard use != .notWanted else { return nil }
    switch error {
    case is NIOSSLError, is BoringSSLError: break
    default: return nil
    }
    // The alerts that refuse a certificate or want another (RFC 8446 §6.2).
    let text = TLSFailureText.reason(of: error)
    guard text.contains("alert"), alerts.contains(where: { text.contains($0) }) else { return nil }
    return .tlsHandshakeFailed(use == .sent ? .clientCertificateRejected : .clientCertificateRequired)
  }

  private static let alerts = [
    "certificate", "unknown ca", "access denied", "handshake failure", "decrypt error", "certificate required",
  ]
}
