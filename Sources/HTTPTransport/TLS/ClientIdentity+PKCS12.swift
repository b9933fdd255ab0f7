import NIOSSL

extension ClientIdentity {
  /// Why a file of keys could not be read.
  package enum ReadingError: Error, Equatable {
    /// It is not what it should be.
    case unreadable(String)
    /// It is a PKCS #12 file, and the passphrase does not open it.
    case locked
    /// It has no private key, or no certificate that belongs to it.
    case incomplete
  }

  /// Reads a PKCS #12 file (RFC 7292): a key with its certificates.
  package init(pkcs12 bytes: [UInt8], passphrase: String?) throws {
    // The library ends the process when there is no key in the file, or none that fits a certificate.
    let contents = PKCS12Contents(bytes)
    guard contents.mayHaveIdentity else { throw ReadingError.incomplete }
    do {
      let bundle = try NIOSSLPKCS12Bundle(buffer: bytes, passphrase: (passphrase ?? "").utf8)
      certificates = try bundle.certificateChain.map { try $0.toDERBytes() }
      privateKey = try bundle.privateKey.derBytes
    } catch {
      throw contents.isRecognized ? ReadingError.locked : .unreadable(TLSFailureText.reason(of: error))
    }
  }

  /// Reads certificates and a private key in PEM, the client's own certificate first.
  package init(certificatesPEM: [UInt8], privateKeyPEM: [UInt8], passphrase: String?) throws {
    do {
      certificates = try NIOSSLCertificate.fromPEMBytes(certificatesPEM).map { try $0.toDERBytes() }
      let key: NIOSSLPrivateKey
      if let passphrase {
        key = try NIOSSLPrivateKey(bytes: privateKeyPEM, format: .pem) { $0(passphrase.utf8) }
      } else {
        key = try NIOSSLPrivateKey(bytes: privateKeyPEM, format: .pem) { $0("".utf8) }
      }
      privateKey = try key.derBytes
    } catch { throw ReadingError.unreadable(TLSFailureText.reason(of: error)) }
    guard !certificates.isEmpty else { throw ReadingError.incomplete }
  }
}
