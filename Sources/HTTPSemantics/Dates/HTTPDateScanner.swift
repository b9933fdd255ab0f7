/// The parts of a date as they were found, in whichever order the form has them.
struct HTTPDateScanner {
  private var day: Int?
  private var month: Int?
  private var year: Int?
  private var yearDigits = 0
  private var time: (hour: Int, minute: Int, second: Int)?
  private var hasWeekday = false
  private var hasZone = false
  /// Seconds east of UTC.
  private(set) var offset: Int64 = 0

  /// nil when a part is unknown, repeated, or out of place.
  static func scan(_ text: some StringProtocol) -> HTTPDateScanner? {
    var scanner = HTTPDateScanner()
    var rest = Array(text.utf8)[...]
    while let first = rest.first {
      if first.isLetter {
        let word = rest.prefix(while: \.isLetter)
        rest = rest[word.endIndex...]
        guard scanner.read(word: String(decoding: word, as: UTF8.self).asciiLowercased()) else { return nil }
      } else if first.isDigit {
        let isTime = rest.dropFirst().prefix(2).contains(UInt8(ascii: ":"))
        let token = rest.prefix { $0.isDigit || (isTime && $0 == UInt8(ascii: ":")) }
        rest = rest[token.endIndex...]
        guard isTime ? scanner.read(time: token) : scanner.read(number: token) else { return nil }
      } else if scanner.time != nil, first == UInt8(ascii: "+") || first == UInt8(ascii: "-") {
        let digits = rest.dropFirst().prefix(while: \.isDigit)
        rest = rest[digits.endIndex...]
        guard scanner.read(offset: digits, isEast: first == UInt8(ascii: "+")) else { return nil }
      } else if first.isHTTPWhitespace || first == UInt8(ascii: ",") || first == UInt8(ascii: "-") {
        rest.removeFirst()
      } else {
        return nil
      }
    }
    return scanner
  }

  func civil(now: Int64?) -> CivilDate? {
    guard let day, let month, let time, var year else { return nil }
    if yearDigits == 2 {
      // RFC 9110 §5.6.7: more than 50 years in the future means the past.
      if let now {
        let current = CivilDate(secondsSinceEpoch: min(max(now, 0), 253_402_300_799)).year
        year += current / 100 * 100
        if year > current + 50 { year -= 100 }
      } else {
        year += year >= 70 ? 1_900 : 2_000
      }
    }
    let date = CivilDate(
      year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    return date.exists ? date : nil
  }

  private mutating func read(word: String) -> Bool {
    if month == nil, let index = HTTPDate.months.firstIndex(where: { word.hasPrefix($0.asciiLowercased()) }) {
      month = index + 1
      return true
    }
    if !hasWeekday, HTTPDate.weekdays.contains(where: { word.hasPrefix($0.asciiLowercased()) }) {
      hasWeekday = true
      return true
    }
    guard time != nil, !hasZone, ["gmt", "utc", "ut", "z"].contains(word) else { return false }
    hasZone = true
    return true
  }

  private mutating func read(number: ArraySlice<UInt8>) -> Bool {
    guard number.count <= 4, let value = Int64(decimalDigits: number).map(Int.init) else { return false }
    if day == nil, number.count <= 2 {
      day = value
    } else if year == nil, number.count == 2 || number.count == 4 {
      year = value
      yearDigits = number.count
    } else {
      return false
    }
    return true
  }

  private mutating func read(time token: ArraySlice<UInt8>) -> Bool {
    let parts = token.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    let numbers = parts.compactMap { $0.count <= 2 ? Int64(decimalDigits: $0).map(Int.init) : nil }
    guard time == nil, numbers.count == parts.count, numbers.count == 2 || numbers.count == 3 else { return false }
    time = (numbers[0], numbers[1], numbers.count == 3 ? numbers[2] : 0)
    return true
  }

  private mutating func read(offset digits: ArraySlice<UInt8>, isEast: Bool) -> Bool {
    guard digits.count == 4, offset == 0, let value = Int64(decimalDigits: digits) else { return false }
    guard value / 100 < 24, value % 100 < 60 else { return false }
    offset = (value / 100 * 3_600 + value % 100 * 60) * (isEast ? 1 : -1)
    return true
  }
}
