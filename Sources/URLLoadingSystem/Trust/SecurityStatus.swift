import Foundation

public let errSecSuccess: OSStatus = 0
public let errSecUnimplemented: OSStatus = -4
public let errSecParam: OSStatus = -50
public let errSecAllocate: OSStatus = -108
public let errSecAuthFailed: OSStatus = -25293
public let errSecItemNotFound: OSStatus = -25300
public let errSecCreateChainFailed: OSStatus = -25318
public let errSecDecode: OSStatus = -26275
public let errSecPkcs12VerifyFailure: OSStatus = -25264
public let errSecPassphraseRequired: OSStatus = -25260
public let errSecHostNameMismatch: OSStatus = -67602
public let errSecInvalidCertificateRef: OSStatus = -67634
public let errSecCertificateExpired: OSStatus = -67818
public let errSecCertificateNotValidYet: OSStatus = -67819
public let errSecCertificatePolicyNotAllowed: OSStatus = -67826
public let errSecNotTrusted: OSStatus = -67843

/// A sentence about `status`; nil when there is none.
///
/// - Parameter reserved: Unused; pass nil.
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
