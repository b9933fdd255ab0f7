import ArgumentParser
import Foundation

/// The time before which a transfer does not begin: `90s`, `1h30m`, `2d`; `22:00`; `2026-12-24`, `2026-12-24T08:00`, also with
/// seconds and with `Z` or an offset behind it. Without one, times are local.
enum BeginArgument: ExpressibleByArgument, Sendable, Equatable {
  /// Seconds from now.
  case after(TimeInterval)
  /// The next time at which clocks show it, in minutes since midnight.
  case timeOfDay(Int)
  case date(Day, seconds: Int, offset: Int?)

  struct Day: Sendable, Equatable {
    var year: Int
    var month: Int
    var day: Int
  }

  /// A year, as a time that is meant to come.
  private static let longest: TimeInterval = 366 * 86_400

  init?(argument: String) {
    if let seconds = BeginArgument.duration(argument) {
      self = .after(seconds)
    } else if let time = BeginArgument.time(argument), argument.utf8.count == 5 {
      self = .timeOfDay(time / 60)
    } else if let date = BeginArgument.date(argument) {
      self = date
    } else {
      return nil
    }
  }

  /// A date in the past means at once.
  func date(after now: Date, in calendar: Calendar = .current) -> Date {
    switch self {
    case .after(let seconds): return now + seconds
    case .timeOfDay(let minutes):
      let parts = DateComponents(hour: minutes / 60, minute: minutes % 60, second: 0)
      return calendar.nextDate(after: now, matching: parts, matchingPolicy: .nextTime) ?? now
    case .date(let day, let seconds, let offset):
      var days = Calendar(identifier: .gregorian)
      days.timeZone = offset.flatMap { TimeZone(secondsFromGMT: $0) } ?? calendar.timeZone
      let parts = DateComponents(
        year: day.year, month: day.month, day: day.day, hour: seconds / 3_600, minute: seconds / 60 % 60,
        second: seconds % 60)
      return days.date(from: parts) ?? now
    }
  }

  // MARK: Parts

  /// `1h30m`: numbers with units, the longest unit first, each once.
  private static func duration(_ text: String) -> TimeInterval? {
    let units: [(unit: Character, seconds: Double)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]
    var rest = text[...]
    var (sum, next) = (0.0, 0)
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
      rest = rest.dropFirst(digits.count)
      guard let number = Double(digits), let unit = rest.popFirst(),
        let place = units[next...].firstIndex(where: { $0.unit == unit })
      else { return nil }
      sum += number * units[place].seconds
      next = place + 1
    }
    return !text.isEmpty && sum <= longest ? sum : nil
  }

  /// `08:00` or `08:00:30`, in seconds.
  private static func time(_ text: some StringProtocol) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2) }
    guard (2...3).contains(parts.count), let hour = parts[0], hour < 24, let minute = parts[1], minute < 60 else {
      return nil
    }
    guard parts.count == 3 else { return hour * 3_600 + minute * 60 }
    guard let second = parts[2], second < 60 else { return nil }
    return hour * 3_600 + minute * 60 + second
  }

  private static func date(_ text: String) -> BeginArgument? {
    let parts = text.prefix(10).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let year = number(parts[0], digits: 4), let month = number(parts[1], digits: 2),
      let day = number(parts[2], digits: 2), (1...12).contains(month), (1...days(of: month, year)).contains(day)
    else { return nil }
    var rest = text.dropFirst(10)
    let date = Day(year: year, month: month, day: day)
    guard !rest.isEmpty else { return .date(date, seconds: 0, offset: nil) }
    guard let mark = rest.popFirst(), mark == "T" || mark == " " else { return nil }
    var offset: Int?
    if rest.last == "Z" {
      rest.removeLast()
      offset = 0
    } else if let sign = rest.lastIndex(where: { $0 == "+" || $0 == "-" }) {
      guard let size = time(rest[rest.index(after: sign)...]) else { return nil }
      offset = rest[sign] == "-" ? -size : size
      rest = rest[..<sign]
    }
    guard let seconds = time(rest) else { return nil }
    return .date(date, seconds: seconds, offset: offset)
  }

  private static func number(_ text: some StringProtocol, digits: Int) -> Int? {
    text.utf8.count == digits && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      ? Int(text) : nil
  }

  private static func days(of month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
