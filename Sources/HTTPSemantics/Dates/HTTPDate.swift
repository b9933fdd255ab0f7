/// Dates of HTTP fields (RFC 9110 §5.6.7) as whole seconds since 1 January 1970, 00:00 UTC.
package enum HTTPDate {
  /// Reads all three forms of RFC 9110 §5.6.7, and what servers make of them: no weekday or a wrong one, one-digit
  /// days, dashes, no seconds, UTC for GMT, a numeric offset.
  /// - Parameter now: the current time; a two-digit year that it would put more than 50 years ahead is then one
  ///   century back. Without it, 70–99 are of the last century and 00–69 of this one.
  /// - Returns: nil for anything that is not a date.
  package static func parse(_ text: some StringProtocol, now: Int64? = nil) -> Int64? {
    if let date = IMFFixdate.read(text) { return date.secondsSinceEpoch }
    return parseAnyForm(text, now: now)
  }

  static func parseAnyForm(_ text: some StringProtocol, now: Int64?) -> Int64? {
    guard text.utf8.count <= 64, let found = HTTPDateScanner.scan(text) else { return nil }
    guard let date = found.civil(now: now) else { return nil }
    return date.secondsSinceEpoch - found.offset
  }

  /// The IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`. Years outside 0–9999 can't be written and are clamped.
  package static func format(_ seconds: Int64) -> String {
    let date = CivilDate(secondsSinceEpoch: min(max(seconds, -62_167_219_200), 253_402_300_799))
    let weekday = weekdays[date.weekday]
    let month = months[date.month - 1]
    return "\(weekday), \(padded(date.day, 2)) \(month) \(padded(date.year, 4)) "
      + "\(padded(date.hour, 2)):\(padded(date.minute, 2)):\(padded(date.second, 2)) GMT"
  }

  static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
