/// The one form of dates that is sent today (RFC 9110 §5.6.7), `Sun, 06 Nov 1994 08:49:37 GMT`, read where it stands: each part has
/// its place. Readers of other forms ask here first.
enum IMFFixdate {
  /// nil for everything that is not written exactly so, and for days and times that do not exist.
  static func read(_ text: some StringProtocol) -> CivilDate? {
    text.utf8.withContiguousStorageIfAvailable { read($0) } ?? nil
  }

  private static let length = 29

  private static func read(_ text: UnsafeBufferPointer<UInt8>) -> CivilDate? {
    guard text.count == length, isWeekday(text[0], text[1], text[2]), text[3] == UInt8(ascii: ","), text[4] == space,
      text[7] == space, text[11] == space, text[16] == space, text[19] == colon, text[22] == colon, text[25] == space,
      text[26] == UInt8(ascii: "G"), text[27] == UInt8(ascii: "M"), text[28] == UInt8(ascii: "T"),
      let month = month(text[8], text[9], text[10]), let day = number(text[5], text[6]),
      let century = number(text[12], text[13]), let year = number(text[14], text[15]),
      let hour = number(text[17], text[18]), let minute = number(text[20], text[21]),
      let second = number(text[23], text[24])
    else { return nil }
    let date = CivilDate(
      year: century * 100 + year, month: month, day: day, hour: hour, minute: minute, second: second)
    return date.exists ? date : nil
  }

  private static let space = UInt8(ascii: " ")
  private static let colon = UInt8(ascii: ":")

  private static func number(_ tens: UInt8, _ ones: UInt8) -> Int? {
    let (tens, ones) = (tens &- UInt8(ascii: "0"), ones &- UInt8(ascii: "0"))
    return tens < 10 && ones < 10 ? Int(tens) * 10 + Int(ones) : nil
  }

  private static func isWeekday(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Bool {
    switch word(first, second, third) {
    case word("S", "u", "n"), word("M", "o", "n"), word("T", "u", "e"), word("W", "e", "d"), word("T", "h", "u"),
      word("F", "r", "i"), word("S", "a", "t"):
      true
    default: false
    }
  }

  private static func month(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int? {
    switch word(first, second, third) {
    case word("J", "a", "n"): 1
    case word("F", "e", "b"): 2
    case word("M", "a", "r"): 3
    case word("A", "p", "r"): 4
    case word("M", "a", "y"): 5
    case word("J", "u", "n"): 6
    case word("J", "u", "l"): 7
    case word("A", "u", "g"): 8
    case word("S", "e", "p"): 9
    case word("O", "c", "t"): 10
    case word("N", "o", "v"): 11
    case word("D", "e", "c"): 12
    default: nil
    }
  }

  private static func word(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> UInt32 {
    UInt32(first) << 16 | UInt32(second) << 8 | UInt32(third)
  }

  private static func word(_ first: Unicode.Scalar, _ second: Unicode.Scalar, _ third: Unicode.Scalar) -> UInt32 {
    first.value << 16 | second.value << 8 | third.value
  }
}
