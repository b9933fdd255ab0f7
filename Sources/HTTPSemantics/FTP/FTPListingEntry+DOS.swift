extension FTPListingEntry {
  /// Reads a line of LIST as servers on Windows write it, without its end: `02-25-20  03:14PM  <DIR>  name`, with the size
  /// in the place of `<DIR>` for files. nil for another line.
  ///
  /// Such servers do not tell their time zone; the time is taken for UTC, so that it is shown as they show it.
  package init?(dosLine line: some Collection<UInt8>) {
    var rest = Array(line)[...]
    func word() -> ArraySlice<UInt8>? {
      rest = rest.drop { $0 == 0x20 }
      let word = rest.prefix { $0 != 0x20 }
      rest = rest[word.endIndex...]
      return word.isEmpty ? nil : word
    }
    guard let day = word(), let time = word(), let date = FTPListingEntry.date(dos: day, time), let what = word()
    else { return nil }
    let isFolder = what.elementsEqual("<DIR>".utf8)
    let size = Int64(decimalDigits: what)
    guard isFolder || size != nil else { return nil }
    // Folders are followed by ten spaces, sizes by one. A name of Windows does not begin with a space.
    let name = Array(rest.drop { $0 == 0x20 })
    guard !name.isEmpty else { return nil }
    self.init(name: name)
    kind = isFolder ? .folder : .file
    self.size = size
    self.date = date
  }

  private static func date(dos day: ArraySlice<UInt8>, _ time: ArraySlice<UInt8>) -> Int64? {
    let parts = day.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].count == 2, parts[1].count == 2, parts[2].count == 2 || parts[2].count == 4,
      let month = Int64(decimalDigits: parts[0]), let dayOfMonth = Int64(decimalDigits: parts[1]),
      var year = Int64(decimalDigits: parts[2])
    else { return nil }
    if parts[2].count == 2 { year += year < 70 ? 2_000 : 1_900 }
    let clock = time.prefix(5).split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard clock.count == 2, clock.allSatisfy({ $0.count == 2 }), var hour = Int64(decimalDigits: clock[0]),
      let minute = Int64(decimalDigits: clock[1])
    else { return nil }
    switch String(decoding: time.dropFirst(5).map(\.lowercased), as: UTF8.self) {
    case "": break
    case "am": hour = hour == 12 ? 0 : hour
    case "pm": hour = hour == 12 ? 12 : hour + 12
    default: return nil
    }
    let date = CivilDate(
      year: Int(year), month: Int(month), day: Int(dayOfMonth), hour: Int(hour), minute: Int(minute), second: 0)
    return date.exists ? date.secondsSinceEpoch : nil
  }
}
