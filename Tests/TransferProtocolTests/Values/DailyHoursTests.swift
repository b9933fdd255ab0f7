import Foundation
import Testing
import TransferProtocol

@Suite struct DailyHoursTests {
  @Test(arguments: [
    ("08:00-18:00", [480, 720, 1_079], [479, 1_080, 0]), ("22:00-06:00", [1_320, 1_439, 0, 359], [360, 1_319]),
    ("00:00-24:00", [], []), ("18:00-24:00", [1_080, 1_439], [0, 1_079]), ("23:59-00:00", [1_439], [0, 1_438]),
  ])
  func containsItsMinutes(_ text: String, _ inside: [Int], _ outside: [Int]) {
    guard let hours = DailyHours(text) else {
      #expect(inside.isEmpty && outside.isEmpty, "a whole day needs no hours")
      return
    }
    for minute in inside { #expect(hours.contains(minute: minute)) }
    for minute in outside { #expect(!hours.contains(minute: minute)) }
    #expect(DailyHours(hours.description) == hours)
  }

  @Test(arguments: [
    "", "8:00-18:00", "08:00", "08:00-08:00", "08:60-09:00", "25:00-26:00", "24:00-08:00", "08:00-18:00-",
  ])
  func otherTextIsNone(_ text: String) { #expect(DailyHours(text) == nil) }

  @Test func aMessageCanNotHoldOtherMinutes() {
    for json in [#"{"start":5,"end":5}"#, #"{"start":-1,"end":5}"#, #"{"start":5,"end":1440}"#] {
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(DailyHours.self, from: Data(json.utf8)) }
    }
  }
}
