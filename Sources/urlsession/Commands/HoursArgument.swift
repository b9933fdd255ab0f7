import ArgumentParser
import TransferProtocol

enum HoursArgument {
  static func parse(_ text: String) throws -> DailyHours {
    guard let hours = DailyHours(text) else {
      throw ValidationError("\(text) are no hours of a day. Give them as 08:00-18:00.")
    }
    return hours
  }
}
