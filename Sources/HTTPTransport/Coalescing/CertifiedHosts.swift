import Synchronization

/// The hosts that a server's certificate is good for. The certificate is read when the first host is looked for.
package final class CertifiedHosts: Sendable {
  /// Reads a certificate (DER), and says whether it is good for a host.
  package typealias Reader = @Sendable (_ certificate: [UInt8]) -> @Sendable (_ host: String) -> Bool

  private let certificate: [UInt8]
  private let reader: Reader
  private let covers = Mutex<(@Sendable (String) -> Bool)?>(nil)

  package init(_ certificate: [UInt8], reader: @escaping Reader) {
    self.certificate = certificate
    self.reader = reader
  }

  package func contain(_ host: String) -> Bool {
    let covers = self.covers.withLock { covers in
      if let covers { return covers }
      let made = reader(certificate)
      covers = made
      return made
    }
    return covers(host)
  }
}
