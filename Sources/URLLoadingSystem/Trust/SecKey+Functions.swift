import Foundation

/// The attribute with the key's algorithm: one of the `kSecAttrKeyType…` values.
public let kSecAttrKeyType = "type"
/// The attribute with the key's size in bits, a number.
public let kSecAttrKeySizeInBits = "bsiz"
/// The attribute with the number of bits that count; the same as the size.
public let kSecAttrEffectiveKeySize = "esiz"
/// The attribute with the half of the pair: `kSecAttrKeyClassPublic` or `kSecAttrKeyClassPrivate`.
public let kSecAttrKeyClass = "kcls"
/// RSA.
public let kSecAttrKeyTypeRSA = "42"
/// Elliptic curves; the older name of `kSecAttrKeyTypeECSECPrimeRandom`.
public let kSecAttrKeyTypeEC = "73"
/// The elliptic curves P-256, P-384 and P-521.
public let kSecAttrKeyTypeECSECPrimeRandom = "73"
/// Ed25519 (RFC 8032).
public let kSecAttrKeyTypeEd25519 = "Ed25519"
/// A public key.
public let kSecAttrKeyClassPublic = "0"
/// A private key.
public let kSecAttrKeyClassPrivate = "1"

/// The key's bytes: for RSA as in PKCS #1, for elliptic curves as in ANSI X9.63. nil when the key has no such form;
/// `error` then gets the reason.
public func SecKeyCopyExternalRepresentation(_ key: SecKey, _ error: UnsafeMutablePointer<CFError?>?) -> CFData? {
  guard let bytes = key.externalBytes else {
    error?.pointee = SecurityError.make(errSecUnimplemented)
    return nil
  }
  return bytes
}

/// The key's type, class and size, under `kSecAttrKeyType`, `kSecAttrKeyClass` and `kSecAttrKeySizeInBits`.
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
  var attributes: CFDictionary = [
    kSecAttrKeySizeInBits: key.sizeInBits, kSecAttrEffectiveKeySize: key.sizeInBits,
    kSecAttrKeyClass: key.privateKeyDERBytes == nil ? kSecAttrKeyClassPublic : kSecAttrKeyClassPrivate,
  ]
  switch key.algorithm {
  case .rsa: attributes[kSecAttrKeyType] = kSecAttrKeyTypeRSA
  case .ellipticCurve: attributes[kSecAttrKeyType] = kSecAttrKeyTypeECSECPrimeRandom
  case .ed25519: attributes[kSecAttrKeyType] = kSecAttrKeyTypeEd25519
  case .unknown: break
  }
  return attributes
}

/// The number of bytes of one block of the key: its modulus, or a coordinate of its curve.
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { (key.sizeInBits + 7) / 8 }
