import Foundation

extension SecCertificate {
  /// The encoding of the subject's name, found without reading the rest (RFC 5280 §4.1); nil where there is none, in what is no
  /// certificate.
  var subjectBytes: Data? {
    derBytes.withUnsafeBytes { bytes in
      var all = DERElements(bytes[...])
      guard var whole = all.next(tag: DERElements.sequence)?.contents,
        let signed = whole.next(tag: DERElements.sequence)
      else { return nil }
      var fields = signed.contents
      // The version, which may be left out.
      if fields.nextTag == DERElements.version, fields.next() == nil { return nil }
      // Serial number, signature, issuer, validity.
      for _ in 0..<4 where fields.next() == nil { return nil }
      return fields.next(tag: DERElements.sequence).map { Data($0.encoded) }
    }
  }
}

/// The elements of a DER encoding, one after the other (X.690 §8.1), whose tags are of one byte.
private struct DERElements {
  struct Element {
    let encoded: Slice<UnsafeRawBufferPointer>
    let contents: DERElements
  }

  static let sequence: UInt8 = 0x30
  /// [0], constructed.
  static let version: UInt8 = 0xa0

  private var rest: Slice<UnsafeRawBufferPointer>

  init(_ bytes: Slice<UnsafeRawBufferPointer>) { rest = bytes }

  var nextTag: UInt8? { rest.first }

  /// nil where there is no whole element, or none of that tag.
  mutating func next(tag: UInt8? = nil) -> Element? {
    var body = rest
    guard let found = body.popFirst(), tag == nil || found == tag, let length = Self.length(&body), length <= body.count
    else { return nil }
    let end = body.startIndex + length
    let element = Element(encoded: rest[rest.startIndex..<end], contents: DERElements(body[body.startIndex..<end]))
    rest = rest[end...]
    return element
  }

  private static func length(_ bytes: inout Slice<UnsafeRawBufferPointer>) -> Int? {
    guard let first = bytes.popFirst() else { return nil }
    guard first >= 0x80 else { return Int(first) }
    let count = Int(first & 0x7f)
    guard (1...4).contains(count), bytes.count >= count else { return nil }
    return (0..<count).reduce(0) { length, _ in length << 8 | Int(bytes.popFirst() ?? 0) }
  }
}
