/// A moment in UTC in the proleptic Gregorian calendar.
struct CivilDate: Equatable {
  var year: Int
  /// 1–12
  var month: Int
  var day: Int
  var hour: Int
  var minute: Int
  /// 0–60: a leap second counts as the next minute's first.
  var second: Int
}

extension CivilDate {
  init(secondsSinceEpoch seconds: Int64) {
    let (quotient, remainder) = Int(seconds).quotientAndRemainder(dividingBy: 86_400)
    let days = remainder < 0 ? quotient - 1 : quotient
    let rest = remainder < 0 ? remainder + 86_400 : remainder
    // Years begin in March here, so that the leap day is a year's last; 719,468 days lie before 1970 in 400-year eras.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    self.init(
      year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
      day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1,
      hour: rest / 3_600, minute: rest / 60 % 60, second: rest % 60)
  }

  var daysSinceEpoch: Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  var secondsSinceEpoch: Int64 { Int64(daysSinceEpoch * 86_400 + hour * 3_600 + minute * 60 + second) }

  /// 0 is Sunday. 1 January 1970 was a Thursday.
  var weekday: Int { ((daysSinceEpoch + 4) % 7 + 7) % 7 }

  var exists: Bool {
    guard (1...12).contains(month) else { return false }
    return (1...lengthOfMonth).contains(day) && (0..<24).contains(hour) && (0..<60).contains(minute)
      && (0...60).contains(second)
  }

  private var lengthOfMonth: Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
