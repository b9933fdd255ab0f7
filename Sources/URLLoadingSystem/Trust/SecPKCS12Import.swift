import Foundation
import HTTPTransport

/// The key of the passphrase, a string.
public let kSecImportExportPassphrase = "passphrase"
/// The key of the `SecIdentity`.
public let kSecImportItemIdentity = "identity"
/// The key of the certificates, `SecCertificate` each, the identity's own first.
public let kSecImportItemCertChain = "chain"
/// The key of a `SecTrust` over these certificates.
public let kSecImportItemTrust = "trust"
/// The key of a name for the item.
public let kSecImportItemLabel = "label"
/// The key of an identifier of the item's key.
public let kSecImportItemKeyID = "keyid"

/// Reads a PKCS #12 file (RFC 7292): one private key and its certificates.
///
/// - Parameters:
///   - pkcs12_data: The file's bytes.
///   - options: The passphrase under `kSecImportExportPassphrase`.
///   - items: Gets an array with one dictionary for the identity in the file: `kSecImportItemIdentity`,
///     `kSecImportItemCertChain`, `kSecImportItemTrust`, `kSecImportItemLabel`.
/// - Returns: `errSecAuthFailed` when the passphrase is wrong, `errSecDecode` when the data is no PKCS #12 file,
///   `errSecItemNotFound` when it has no private key with its certificate.
public func SecPKCS12Import(
  _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
  items.pointee = nil
  let read: ClientIdentity
  do {
    read = try ClientIdentity(
      pkcs12: Array(pkcs12_data), passphrase: options[kSecImportExportPassphrase] as? String)
  } catch ClientIdentity.ReadingError.incomplete {
    return errSecItemNotFound
  } catch ClientIdentity.ReadingError.locked {
    return errSecAuthFailed
  } catch { return errSecDecode }
  let chain = read.certificates.map { SecCertificate(derBytes: Data($0)) }
  guard let first = chain.first, first.parsed != nil else { return errSecItemNotFound }
  var item: [String: Any] = [
    kSecImportItemIdentity: SecIdentity(certificate: first, privateKeyDERBytes: Data(read.privateKey)),
    kSecImportItemCertChain: chain, kSecImportItemTrust: SecTrust(certificates: chain, host: nil),
  ]
  item[kSecImportItemLabel] = first.subjectSummary
  items.pointee = [item]
  return errSecSuccess
}
