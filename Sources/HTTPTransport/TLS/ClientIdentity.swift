/// A client's certificate chain and its key.
package struct ClientIdentity: Sendable {
  /// DER; the client's own first.
  package var certificates: [[UInt8]]
  /// DER: PKCS #8, or the older forms of RSA and EC keys.
  package var privateKey: [UInt8]

  package init(certificates: [[UInt8]], privateKey: [UInt8]) {
    self.certificates = certificates
    self.privateKey = privateKey
  }
}
