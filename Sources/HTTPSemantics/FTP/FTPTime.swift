/// A moment as FTP servers write it (RFC 3659 §2.3): `YYYYMMDDhhmmss` in UTC, and perhaps a fraction.
enum FTPTime {
  /// Seconds since 1970. The fraction is dropped. nil where `text` does not begin with a moment that exists.
  static func parse(_ text: some Sequence<UInt8>) -> Int64? {
    let digits = Array(text.prefix { $0.isDigit })
    guard digits.count == 14 else { return nil }
    func number(_ start: Int, _ count: Int) -> Int {
      Int(Int64(decimalDigits: digits.dropFirst(start).prefix(count)) ?? -1)
    }
    let date = CivilDate(
      year: number(0, 4), month: number(4, 2), day: number(6, 2), hour: number(8, 2), minute: number(10, 2),
      second: number(12, 2))
    return date.exists ? date.secondsSinceEpoch : nil
  }
}
