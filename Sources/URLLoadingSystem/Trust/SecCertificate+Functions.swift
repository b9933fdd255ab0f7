import Foundation
import SwiftASN1
import X509

/// A certificate from its DER encoding; nil when `data` is none. `allocator` is unused; pass nil.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
  let certificate = SecCertificate(derBytes: Data(data))
  return certificate.parsed == nil ? nil : certificate
}

/// The certificate's DER encoding.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { certificate.derBytes }

/// A few words for people: the common name, or else the unit or the organization.
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? { certificate.subjectSummary }

/// Puts the subject's common name into `commonName`; nil when there is none.
public func SecCertificateCopyCommonName(
  _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
  guard let parsed = certificate.parsed else { return errSecInvalidCertificateRef }
  commonName.pointee = parsed.subject.last(.NameAttributes.commonName)
  return errSecSuccess
}

/// Puts the mail addresses of the certificate into `emailAddresses`.
public func SecCertificateCopyEmailAddresses(
  _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
  guard let parsed = certificate.parsed else { return errSecInvalidCertificateRef }
  let names = (try? parsed.extensions.subjectAlternativeNames) ?? nil
  emailAddresses.pointee = (names ?? SubjectAlternativeNames()).compactMap {
    if case .rfc822Name(let name) = $0 { name } else { nil }
  }
  return errSecSuccess
}

/// The public key; nil when its kind is not known.
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
  certificate.parsed.map { SecKey($0.publicKey) }
}

/// The serial number's bytes. `error` gets the reason when there is no number.
public func SecCertificateCopySerialNumberData(
  _ certificate: SecCertificate, _ error: UnsafeMutablePointer<CFError?>?
) -> CFData? {
  guard let parsed = certificate.parsed else {
    error?.pointee = SecurityError.make(errSecInvalidCertificateRef)
    return nil
  }
  return Data(parsed.serialNumber.bytes)
}

/// The issuer's name as DER. Not normalized as Apple's is: the encoding of the certificate itself.
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
  certificate.parsed.flatMap { $0.issuer.derBytes }
}

/// The subject's name as DER. Not normalized as Apple's is: the encoding of the certificate itself.
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
  certificate.parsed.flatMap { $0.subject.derBytes }
}

/// The moment before which the certificate is not valid; nil when the certificate can't be read.
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
  certificate.parsed?.notValidBefore
}

/// The moment after which the certificate is not valid; nil when the certificate can't be read.
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
  certificate.parsed?.notValidAfter
}

extension DistinguishedName {
  var derBytes: Data? {
    var serializer = DER.Serializer()
    guard (try? serializer.serialize(self)) != nil else { return nil }
    return Data(serializer.serializedBytes)
  }
}

/// Errors in the form of Apple's security functions.
enum SecurityError {
  static func make(_ status: OSStatus, _ sentence: String? = nil) -> NSError {
    let text = sentence ?? SecCopyErrorMessageString(status, nil) ?? "Status \(status)."
    return NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: [NSLocalizedDescriptionKey: text])
  }
}
