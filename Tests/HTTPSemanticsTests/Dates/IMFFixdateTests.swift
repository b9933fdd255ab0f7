import Testing

@testable import HTTPSemantics

/// Dates that are read by their places are read as by the readers of all forms.
@Suite struct IMFFixdateTests {
  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
      // A wrong weekday.
      ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ] as [(String, Int64)])
  func readsTheForm(_ text: String, seconds: Int64) {
    #expect(IMFFixdate.read(text)?.secondsSinceEpoch == seconds)
    #expect(HTTPDate.parse(text) == seconds)
  }

  @Test(arguments: [
    "", "Sun, 06 Nov 1994 08:49:37 GM", "Sun, 06 Nov 1994 08:49:37 GMT ", "sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 NOV 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06-Nov-1994 08:49:37 GMT",
    "Sun, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun,  6 Nov 1994 08:49:37 GMT", "Nov, 06 Sun 1994 08:49:37 GMT", "Sün, 06 Nov 1994 08:49:37 GM",
  ])
  func leavesOthersToOtherReaders(_ text: String) {
    #expect(IMFFixdate.read(text) == nil)
  }

  @Test func allReadersAgreeOnDates() {
    for seconds in stride(from: Int64(-62_167_219_200), through: 253_402_300_799, by: 86_400_017) {
      expectAgreement(HTTPDate.format(seconds), isRead: true)
    }
  }

  /// Each byte of a date replaced by each other byte.
  @Test(arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Tue, 29 Feb 2000 23:59:59 GMT", "Sat, 31 Dec 0094 00:00:60 GMT"])
  func allReadersAgreeOnWhatIsAlmostADate(_ date: String) {
    for index in 0..<date.utf8.count {
      for byte in UInt8.min...UInt8.max {
        var bytes = Array(date.utf8)
        bytes[index] = byte
        expectAgreement(String(decoding: bytes, as: UTF8.self))
      }
    }
  }

  private func expectAgreement(_ text: String, isRead: Bool = false) {
    let now: Int64 = 1_700_000_000
    if isRead { #expect(IMFFixdate.read(text) != nil) }
    #expect(HTTPDate.parse(text, now: now) == HTTPDate.parseAnyForm(text, now: now), "\(text)")
    #expect(CacheDate.parse(text, now: now) == CacheDate.parseAnyForm(text, now: now), "\(text)")
    #expect(CookieDate.parse(text) == CookieDate.parseAnyForm(text), "\(text)")
  }
}
