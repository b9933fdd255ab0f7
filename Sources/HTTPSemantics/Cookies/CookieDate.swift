/// The dates of cookies, which come in far more forms than HTTP's other dates.
package enum CookieDate {
  /// RFC 6265bis §5.1.1: takes the text apart into tokens and recognises time, day, month and year among them, in
  /// that order of precedence and wherever they stand.
  /// - Returns: seconds since 1 January 1970, 00:00 UTC; nil when a part is missing or the date does not exist.
  package static func parse(_ text: some StringProtocol) -> Int64? {
    // Other years and leap seconds are read in another way here.
    if let date = IMFFixdate.read(text), date.year >= 1_601, date.second <= 59 { return date.secondsSinceEpoch }
    return parseAnyForm(text)
  }

  static func parseAnyForm(_ text: some StringProtocol) -> Int64? {
    guard text.utf8.count <= 1_024 else { return nil }
    var found = Parts()
    for token in text.utf8.split(whereSeparator: isDelimiter) { found.read(Array(token)) }
    return found.secondsSinceEpoch
  }

  /// `%x09 / %x20-2F / %x3B-40 / %x5B-60 / %x7B-7E`
  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
    default: false
    }
  }

  private struct Parts {
    var time: (hour: Int, minute: Int, second: Int)?
    var day: Int?
    var month: Int?
    var year: Int?

    /// Step 2: each token is the first part still missing that it can be.
    mutating func read(_ token: [UInt8]) {
      if time == nil, let read = Parts.time(token) {
        time = read
      } else if day == nil, let read = Parts.number(token, digits: 1...2) {
        day = read
      } else if month == nil, let read = Parts.month(token) {
        month = read
      } else if year == nil, let read = Parts.number(token, digits: 2...4) {
        year = read
      }
    }

    /// Steps 3 to 6.
    var secondsSinceEpoch: Int64? {
      guard let time, let day, let month, var year else { return nil }
      if (70...99).contains(year) { year += 1_900 }
      if (0...69).contains(year) { year += 2_000 }
      let date = CivilDate(
        year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
      guard year >= 1_601, time.second <= 59, date.exists else { return nil }
      return date.secondsSinceEpoch
    }

    /// `hms-time`: three numbers of one or two digits with colons between them. What follows a non-digit is ignored.
    private static func time(_ token: [UInt8]) -> (hour: Int, minute: Int, second: Int)? {
      let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
      guard fields.count >= 3, let hour = digits(fields[0]), let minute = digits(fields[1]) else { return nil }
      guard let second = number(Array(fields[2]), digits: 1...2) else { return nil }
      return (hour, minute, second)
    }

    private static func digits(_ field: ArraySlice<UInt8>) -> Int? {
      field.count <= 2 ? Int64(decimalDigits: field).map(Int.init) : nil
    }

    /// A number of so many digits, alone or before a non-digit.
    private static func number(_ token: [UInt8], digits: ClosedRange<Int>) -> Int? {
      let leading = token.prefix(while: \.isDigit)
      guard digits.contains(leading.count) else { return nil }
      return Int64(decimalDigits: leading).map(Int.init)
    }

    private static func month(_ token: [UInt8]) -> Int? {
      let name = String(decoding: token.prefix(3), as: UTF8.self).asciiLowercased()
      return HTTPDate.months.firstIndex { $0.asciiLowercased() == name }.map { $0 + 1 }
    }
  }
}
