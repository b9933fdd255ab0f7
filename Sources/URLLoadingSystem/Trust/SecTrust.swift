import Foundation

/// The certificates that a server showed, and for which host: what is to be judged before its answers are believed.
public final class SecTrust: Sendable, Hashable {
  /// The chain as the server sent it, its own certificate first.
  package let certificates: [SecCertificate]
  /// The host that the certificates are to vouch for; nil when no name was checked.
  package let host: String?

  package init(certificates: [SecCertificate], host: String?) {
    self.certificates = certificates
    self.host = host
  }

  public static func == (left: SecTrust, right: SecTrust) -> Bool {
    left.certificates == right.certificates && left.host == right.host
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(certificates)
    hasher.combine(host)
  }
}
