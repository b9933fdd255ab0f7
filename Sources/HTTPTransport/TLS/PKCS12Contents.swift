/// A look at the outside of a PKCS #12 file (RFC 7292 §4), before the TLS library opens it.
package struct PKCS12Contents {
  /// False when the file certainly has no private key beside its certificates.
  package let mayHaveIdentity: Bool
  /// Whether this is a PKCS #12 file in DER, whatever is in it.
  package let isRecognized: Bool

  // The parts of object identifiers behind their tag and length.
  private static let data: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]
  private static let encryptedData: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06]
  private static let keyBag: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x01]
  private static let shroudedKeyBag: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x02]
  private static let certificateBag: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x03]

  package init(_ bytes: [UInt8]) {
    // PFX ::= SEQUENCE { version, authSafe ContentInfo, … }; authSafe holds a SEQUENCE of further ContentInfos.
    guard let pfx = DERElement.first(in: bytes[...], tag: 0x30), let safe = pfx.child(1), let outer = safe.child(1),
      let octets = outer.child(0), let list = DERElement.first(in: octets.content, tag: 0x30)
    else {
      // Not what we know: the library says what is wrong with it.
      mayHaveIdentity = true
      isRecognized = false
      return
    }
    var hasKey = false
    var hasCertificate = false
    for info in list.children {
      guard let type = info.child(0) else { continue }
      if type.content.elementsEqual(PKCS12Contents.encryptedData) {
        // An encrypted part does not say what it holds; mostly it holds certificates.
        hasCertificate = true
      } else if type.content.elementsEqual(PKCS12Contents.data), let octets = info.child(1)?.child(0),
        let bags = DERElement.first(in: octets.content, tag: 0x30)
      {
        for bag in bags.children {
          guard let kind = bag.child(0)?.content else { continue }
          if kind.elementsEqual(PKCS12Contents.keyBag) || kind.elementsEqual(PKCS12Contents.shroudedKeyBag) {
            hasKey = true
          }
          if kind.elementsEqual(PKCS12Contents.certificateBag) { hasCertificate = true }
        }
      }
    }
    mayHaveIdentity = hasKey && hasCertificate
    isRecognized = true
  }
}

/// One element of DER or BER with a definite length.
struct DERElement {
  let tag: UInt8
  let content: ArraySlice<UInt8>

  static func first(in bytes: ArraySlice<UInt8>, tag: UInt8) -> DERElement? {
    var rest = bytes
    guard let element = next(in: &rest), element.tag == tag else { return nil }
    return element
  }

  var children: [DERElement] {
    var rest = content
    var found: [DERElement] = []
    while let element = DERElement.next(in: &rest) { found.append(element) }
    return found
  }

  func child(_ index: Int) -> DERElement? {
    let all = children
    return index < all.count ? all[index] : nil
  }

  private static func next(in rest: inout ArraySlice<UInt8>) -> DERElement? {
    guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
    var length = Int(first)
    if first & 0x80 != 0 {
      let count = Int(first & 0x7f)
      guard (1...4).contains(count) else { return nil }
      length = 0
      for _ in 0..<count {
        guard let byte = rest.popFirst() else { return nil }
        length = length << 8 | Int(byte)
      }
    }
    guard length <= rest.count else { return nil }
    defer { rest = rest.dropFirst(length) }
    return DERElement(tag: tag, content: rest.prefix(length))
  }
}
