import Foundation

/// No error.
public let errSecSuccess: OSStatus = 0
/// The function is not implemented, or not for this value.
public let errSecUnimplemented: OSStatus = -4
/// A parameter is not valid.
public let errSecParam: OSStatus = -50
/// There is not enough memory. Never given here.
public let errSecAllocate: OSStatus = -108
/// The passphrase is not correct.
public let errSecAuthFailed: OSStatus = -25293
/// There is no such item.
public let errSecItemNotFound: OSStatus = -25300
/// No chain of certificates leads to a root.
public let errSecCreateChainFailed: OSStatus = -25318
/// The data can't be decoded.
public let errSecDecode: OSStatus = -26275
/// The PKCS #12 data can't be verified: the passphrase may be wrong.
public let errSecPkcs12VerifyFailure: OSStatus = -25264
/// A passphrase is required.
public let errSecPassphraseRequired: OSStatus = -25260
/// The certificate is for another host.
public let errSecHostNameMismatch: OSStatus = -67602
/// The certificate is not valid, or can't be read.
public let errSecInvalidCertificateRef: OSStatus = -67634
/// The certificate has expired.
public let errSecCertificateExpired: OSStatus = -67818
/// The certificate is not valid yet.
public let errSecCertificateNotValidYet: OSStatus = -67819
/// The certificate may not be used for this.
public let errSecCertificatePolicyNotAllowed: OSStatus = -67826
/// The certificate is not trusted.
public let errSecNotTrusted: OSStatus = -67843

/// A sentence about `status`; nil when there is none. `reserved` is unused; pass nil.
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
  switch status {
  case errSecSuccess: "No error."
  case errSecUnimplemented: "The function is not implemented."
  case errSecParam: "A parameter is not valid."
  case errSecAuthFailed: "The passphrase is not correct."
  case errSecItemNotFound: "The item could not be found."
  case errSecCreateChainFailed: "No chain of certificates leads to a root."
  case errSecDecode: "The data can't be decoded."
  case errSecPkcs12VerifyFailure: "The PKCS #12 data can't be verified: the passphrase may be wrong."
  case errSecPassphraseRequired: "A passphrase is required."
  case errSecHostNameMismatch: "The certificate is for another host."
  case errSecInvalidCertificateRef: "The certificate is not valid."
  case errSecCertificateExpired: "The certificate has expired."
  case errSecCertificateNotValidYet: "The certificate is not valid yet."
  case errSecCertificatePolicyNotAllowed: "The certificate may not be used for this."
  case errSecNotTrusted: "The certificate is not trusted."
  default: nil
  }
}
