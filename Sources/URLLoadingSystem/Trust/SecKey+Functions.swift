import Foundation

public let kSecAttrKeyType = "type"
public let kSecAttrKeySizeInBits = "bsiz"
public let kSecAttrEffectiveKeySize = "esiz"
public let kSecAttrKeyClass = "kcls"
public let kSecAttrKeyTypeRSA = "42"
public let kSecAttrKeyTypeEC = "73"
public let kSecAttrKeyTypeECSECPrimeRandom = "73"
public let kSecAttrKeyTypeEd25519 = "Ed25519"
public let kSecAttrKeyClassPublic = "0"
public let kSecAttrKeyClassPrivate = "1"

/// The key's bytes: for RSA as in PKCS #1, for elliptic curves as in ANSI X9.63. nil when the key has no such form.
///
/// - Parameter error: Gets the reason when the result is nil.
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
