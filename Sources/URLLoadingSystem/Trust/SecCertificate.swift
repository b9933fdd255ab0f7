import Crypto
import Foundation
import SwiftASN1
import Synchronization
import X509

/// An X.509 certificate (RFC 5280). Immutable.
public final class SecCertificate: Sendable, Hashable, CustomStringConvertible {
  /// The certificate's DER encoding.
  package let derBytes: Data
  /// nil inside where the bytes are no certificate; nil before they are read, which takes long and is often not needed.
  private let reading: Mutex<Certificate??>

  /// nil when the bytes are no certificate: a server may send anything.
  package var parsed: Certificate? {
    reading.withLock { reading in
      if let known = reading { return known }
      let read = try? Certificate(derEncoded: Array(derBytes))
      reading = .some(read)
      return read
    }
  }

  package init(derBytes: Data) {
    self.derBytes = derBytes
    reading = Mutex(nil)
  }

  package init(_ certificate: Certificate) {
    reading = Mutex(.some(certificate))
    var serializer = DER.Serializer()
    derBytes = (try? serializer.serialize(certificate)).map { Data(serializer.serializedBytes) } ?? Data()
  }

  /// The certificates in `pem`, in order: every block between `BEGIN CERTIFICATE` and `END CERTIFICATE`. Blocks that
  /// hold no certificate are left out.
  ///
  /// Not part of Apple's API, where `SecItemImport` does this on the Mac alone.
  public static func certificates(inPEM pem: Data) -> [SecCertificate] {
    PEMBlocks(of: "CERTIFICATE", in: pem).compactMap {
      let certificate = SecCertificate(derBytes: $0)
      return certificate.parsed == nil ? nil : certificate
    }
  }

  public static func == (left: SecCertificate, right: SecCertificate) -> Bool { left.derBytes == right.derBytes }

  public func hash(into hasher: inout Hasher) { hasher.combine(derBytes) }

  /// The subject in a few words.
  public var description: String { "<SecCertificate: \(subjectSummary ?? "unreadable")>" }

  /// The SHA-256 of the public key with its algorithm (RFC 7469 §2.4); nil when the bytes are no certificate.
  package var publicKeySHA256: Data? {
    subjectPublicKeyInfo.map { Data(SHA256.hash(data: Data($0))) }
  }

  /// The field of that name, as the certificate has it (RFC 5280 §4.1). Behind the version, which may be left out, it is the
  /// sixth: serial number, signature, issuer, validity, subject, key.
  private var subjectPublicKeyInfo: ArraySlice<UInt8>? {
    guard let parsed, let node = try? DER.parse(parsed.tbsCertificateBytes),
      case .constructed(let children) = node.content
    else { return nil }
    let fields = children.filter { $0.identifier.tagClass != .contextSpecific }
    return fields.dropFirst(5).first?.encodedBytes
  }

  /// Whom it is for and who made it, as RFC 4514 writes names; nil when the bytes are no certificate.
  package var names: (subject: String, issuer: String)? {
    parsed.map { ("\($0.subject)", "\($0.issuer)") }
  }

  var subjectSummary: String? {
    guard let parsed else { return nil }
    for type in [
      ASN1ObjectIdentifier.NameAttributes.commonName, .NameAttributes.organizationalUnitName,
      .NameAttributes.organizationName,
    ] {
      if let value = parsed.subject.last(type) { return value }
    }
    return "\(parsed.subject)"
  }

  /// Whether the subject names itself as the issuer, and its own key made the signature.
  var isSelfSigned: Bool {
    guard let parsed, parsed.subject == parsed.issuer else { return false }
    return parsed.publicKey.isValidSignature(parsed.signature, for: parsed)
  }
}

extension DistinguishedName {
  /// The last, and so the most specific, value of an attribute.
  func last(_ type: ASN1ObjectIdentifier) -> String? {
    for relative in reversed() {
      for attribute in relative where attribute.type == type { return String(attribute.value) ?? "\(attribute.value)" }
    }
    return nil
  }
}
