/// The character classes of RFC 9110 §5.6 and RFC 5234 appendix B.1, asked of single bytes.
///
/// Two 64-bit masks instead of a table: no lazily initialised global stands between a parser and its answer.
extension UInt8 {
  /// RFC 9110 §5.6.2 `tchar`: what methods, field names and parameter names are made of.
  @inlinable
  package var isToken: Bool {
    // Bit n of the first mask stands for byte n, of the second for byte 64 + n.
    guard self < 0x80 else { return false }
    let mask: UInt64 = self < 0x40 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
    return mask & (1 &<< UInt64(self & 0x3F)) != 0
  }

  /// Space or horizontal tab (RFC 9110 §5.6.3).
  @inlinable
  package var isHTTPWhitespace: Bool { self == 0x20 || self == 0x09 }

  @inlinable
  package var isDigit: Bool { self &- 0x30 < 10 }

  @inlinable
  package var isLetter: Bool { (self | 0x20) &- 0x61 < 26 }

  /// A control character: C0 or DEL. A tab is one of them.
  @inlinable
  package var isControl: Bool { self < 0x20 || self == 0x7F }

  /// The value of a hexadecimal digit of either case, or nil.
  @inlinable
  package var hexValue: UInt8? {
    if isDigit { return self &- 0x30 }
    let letter = (self | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }

  /// The letter in lower case; every other byte as it is.
  @inlinable
  package var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

extension StringProtocol {
  /// The string with A–Z in lower case and everything else untouched: no Unicode mapping changes a protocol name.
  package func asciiLowercased() -> String {
    String(decoding: utf8.map(\.lowercased), as: UTF8.self)
  }
}

extension Int64 {
  /// Reads `1*DIGIT` and nothing else: no sign, no space, no overflow. nil otherwise.
  package init?(decimalDigits digits: some Sequence<UInt8>) {
    var value: Int64 = 0
    var isEmpty = true
    for digit in digits {
      guard digit.isDigit else { return nil }
      let (tens, tensOverflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, sumOverflow) = tens.addingReportingOverflow(Int64(digit &- 0x30))
      guard !tensOverflow, !sumOverflow else { return nil }
      value = sum
      isEmpty = false
    }
    guard !isEmpty else { return nil }
    self = value
  }
}

/// The bytes a percent-encoded sequence stands for. A `%` that two hexadecimal digits do not follow stays as it is
/// when `lenient`; otherwise it makes the whole malformed: nil.
package func percentDecoded(_ encoded: some Collection<UInt8>, lenient: Bool = true) -> [UInt8]? {
  var decoded: [UInt8] = []
  decoded.reserveCapacity(encoded.count)
  var index = encoded.startIndex
  while index != encoded.endIndex {
    let byte = encoded[index]
    encoded.formIndex(after: &index)
    guard byte == UInt8(ascii: "%") else {
      decoded.append(byte)
      continue
    }
    let digits = encoded[index...].prefix(2).compactMap(\.hexValue)
    if digits.count == 2 {
      decoded.append(digits[0] << 4 | digits[1])
      index = encoded.index(index, offsetBy: 2)
    } else if lenient {
      decoded.append(byte)
    } else {
      return nil
    }
  }
  return decoded
}

extension [UInt8] {
  /// Appends `%` and the two digits of `byte`, in upper case (RFC 3986 §2.1).
  package mutating func appendPercentEncoding(of byte: UInt8) {
    append(UInt8(ascii: "%"))
    for digit in [byte >> 4, byte & 0x0F] { append(digit < 10 ? 0x30 + digit : 0x41 + digit - 10) }
  }
}
