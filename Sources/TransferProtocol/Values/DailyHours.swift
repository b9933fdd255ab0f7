/// A span of each day by the clock on the wall: from its start up to, and without, its end. One whose end comes before its
/// start goes on after midnight.
package struct DailyHours: Codable, Sendable, Hashable {
  /// Minutes since midnight, 0…1439.
  package let start: Int
  /// Minutes since midnight, 0…1439, and not the start.
  package let end: Int

  private static let minutesOfDay = 0..<1_440

  /// nil where the span is empty or not within a day.
  package init?(start: Int, end: Int) {
    guard start != end, Self.minutesOfDay.contains(start), Self.minutesOfDay.contains(end) else { return nil }
    (self.start, self.end) = (start, end)
  }

  /// `08:00-18:00`; nil for other text. `24:00` is the end of the day.
  package init?(_ text: String) {
    let times = text.split(separator: "-", omittingEmptySubsequences: false)
    guard times.count == 2, let start = Self.minutes(times[0]), let end = Self.minutes(times[1]), start != 1_440 else {
      return nil
    }
    self.init(start: start, end: end % 1_440)
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let (start, end) = (try container.decode(Int.self, forKey: .start), try container.decode(Int.self, forKey: .end))
    guard let hours = DailyHours(start: start, end: end) else {
      throw DecodingError.dataCorruptedError(forKey: .start, in: container, debugDescription: "no span of a day")
    }
    self = hours
  }

  private static func minutes(_ text: Substring) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 2, parts[1].count == 2,
      parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }), let hour = Int(parts[0]),
      let minute = Int(parts[1]), minute < 60, hour < 24 || (hour == 24 && minute == 0)
    else { return nil }
    return hour * 60 + minute
  }

  /// - Parameter minute: since midnight.
  package func contains(minute: Int) -> Bool {
    start < end ? (start..<end).contains(minute) : minute >= start || minute < end
  }
}

extension DailyHours: CustomStringConvertible {
  package var description: String {
    func time(_ minutes: Int) -> String {
      func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
      return "\(digits(minutes / 60)):\(digits(minutes % 60))"
    }
    return "\(time(start))-\(time(end))"
  }
}
