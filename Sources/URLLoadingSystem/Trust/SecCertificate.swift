import Foundation

/// An X.509 certificate, held in its DER form.
public final class SecCertificate: Sendable, Hashable {
  /// The certificate's DER encoding.
  package let derBytes: Data

  package init(derBytes: Data) { self.derBytes = derBytes }

  public static func == (left: SecCertificate, right: SecCertificate) -> Bool { left.derBytes == right.derBytes }

  public func hash(into hasher: inout Hasher) { hasher.combine(derBytes) }
}
