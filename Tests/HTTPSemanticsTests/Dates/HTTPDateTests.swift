import HTTPSemantics
import Testing

@Suite struct HTTPDateTests {
  static let example: Int64 = 784_111_777

  @Test(arguments: [
    // RFC 9110 §5.6.7
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    // as sent
    "Sun, 6 Nov 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 UTC", "sun, 06 nov 1994 8:49:37 gmt", "Sun, 06 Nov 1994 08:49:37",
    "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 09:49:37 +0100", "Sun, 06 Nov 1994 03:19:37 -0530",
    "Sun Nov 6 08:49:37 GMT 1994", "06 November 1994 08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT ",
    "Sun,06 Nov 1994 08:49:37 GMT",
  ])
  func everyFormatOfTheRFCIsParsed(_ text: String) {
    #expect(HTTPDate.parse(text) == Self.example)
  }

  @Test(
    arguments: [
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
      ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
      ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648), ("06 Nov 1994 08:49 GMT", 784_111_740),
    ] as [(String, Int64)])
  func unusualDatesAreParsed(_ text: String, seconds: Int64) {
    #expect(HTTPDate.parse(text) == seconds)
  }

  @Test(arguments: [
    "", "0", "-1", "now", "Sun", "Sun, 06 Nov 1994", "08:49:37", "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 XYZ", "Sun, 06 Nov 19941 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT GMT", "Sun, 06 Nov 1994 08:49:37 +9900", "1994-11-06T08:49:37Z",
    "Sun, 06 Nov 1994 08:49:37:00 GMT", "Sun, 06 Nov 1994 08::37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT; x",
    "Sun, 06 Nov 1994 08:49:37 GMT 1994", "06 Nov 994 08:49:37 GMT", "Sün, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:999999999999999999999 GMT",
  ])
  func invalidDatesAreRefused(_ text: String) {
    #expect(HTTPDate.parse(text) == nil)
  }

  /// RFC 9110 §5.6.7: two digits that seem more than 50 years ahead are of the past.
  @Test(
    arguments: [
      ("Sunday, 06-Nov-94 08:49:37 GMT", nil, 1994), ("Monday, 06-Nov-23 08:49:37 GMT", nil, 2023),
      ("Sunday, 06-Nov-69 08:49:37 GMT", nil, 2069), ("Sunday, 06-Nov-70 08:49:37 GMT", nil, 1970),
      ("Sunday, 06-Nov-94 08:49:37 GMT", "Wed, 01 Jan 2025 00:00:00 GMT", 1994),
      ("Sunday, 06-Nov-75 08:49:37 GMT", "Wed, 01 Jan 2025 00:00:00 GMT", 2075),
      ("Sunday, 06-Nov-76 08:49:37 GMT", "Wed, 01 Jan 2025 00:00:00 GMT", 1976),
      ("Sunday, 06-Nov-10 08:49:37 GMT", "Wed, 01 Jan 2110 00:00:00 GMT", 2110),
    ] as [(String, String?, Int)])
  func twoDigitYears(_ text: String, now: String?, year: Int) throws {
    let seconds = try #require(HTTPDate.parse(text, now: now.flatMap { HTTPDate.parse($0) }))
    #expect(HTTPDate.format(seconds).contains(" \(year) "))
  }

  @Test(arguments: [
    (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
    (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"), (Int64.min, "Sat, 01 Jan 0000 00:00:00 GMT"),
  ])
  func datesAreFormatted(_ seconds: Int64, text: String) {
    #expect(HTTPDate.format(seconds) == text)
  }

  @Test func formattedDatesAreParsedBack() {
    // Steps of about a hundred days, with every time of day, over the whole range.
    for seconds in stride(from: Int64(-62_167_219_200), through: 253_402_300_799, by: 8_640_007) {
      #expect(HTTPDate.parse(HTTPDate.format(seconds)) == seconds)
    }
  }
}
