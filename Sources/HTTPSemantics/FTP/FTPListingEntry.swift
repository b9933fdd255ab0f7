/// One name of an FTP server's folder, and what is known of it.
package struct FTPListingEntry: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case file
    case folder
    /// A symbolic link; with the path that it leads to, where that is known.
    case link(to: [UInt8]?)
    /// Another kind, by the letter that `ls` has for it.
    case other(UInt8)
  }

  /// Any bytes but a line end.
  package var name: [UInt8]
  package var kind = Kind.file
  /// In bytes.
  package var size: Int64?
  /// When it was changed last, in seconds since 1970.
  package var date: Int64?
  /// The permissions, with the bits of `chmod`.
  package var mode: UInt16?
  package var owner: [UInt8]?
  package var group: [UInt8]?

  package init(name: [UInt8]) { self.name = name }

  /// The line of `ls -l`, without its end.
  ///
  /// Values that are not known are shown as 0, `-`, or the permissions that files and folders have by default.
  ///
  /// - Parameter now: In seconds since 1970: a date of the last half year is shown with its time, another one with its year.
  package func line(at now: Int64) -> [UInt8] {
    var line = [letter] + permissions
    line += FTPListingEntry.right("1", 5) + [0x20]
    line += FTPListingEntry.left(owner) + [0x20]
    line += FTPListingEntry.left(group) + [0x20]
    line += FTPListingEntry.right(String(size ?? 0), 12) + [0x20]
    line += Array(FTPListingEntry.text(of: date ?? 0, at: now).utf8) + [0x20]
    line += name
    if case .link(let target?) = kind { line += Array(" -> ".utf8) + target }
    return line
  }

  private var letter: UInt8 {
    switch kind {
    case .file: UInt8(ascii: "-")
    case .folder: UInt8(ascii: "d")
    case .link: UInt8(ascii: "l")
    case .other(let letter): letter
    }
  }

  private var permissions: [UInt8] {
    let standard: UInt16 =
      switch kind {
      case .file, .other: 0o644
      case .folder: 0o755
      case .link: 0o777
      }
    let mode = self.mode ?? standard
    var text = Array("rwxrwxrwx".utf8)
    for index in 0..<9 where mode & (0o400 >> UInt16(index)) == 0 { text[index] = UInt8(ascii: "-") }
    // Set-user-ID, set-group-ID, and the sticky bit stand where the right to execute stands.
    for (bit, index, letter) in [(0o4000, 2, "s"), (0o2000, 5, "s"), (0o1000, 8, "t")] where mode & UInt16(bit) != 0 {
      let letter = Array(letter.utf8)
      text[index] = text[index] == UInt8(ascii: "-") ? letter[0] & ~0x20 : letter[0]
    }
    return text
  }

  private static let halfYear: Int64 = 182 * 86_400

  private static func text(of date: Int64, at now: Int64) -> String {
    let civil = CivilDate(secondsSinceEpoch: date)
    let month = HTTPDate.months[civil.month - 1]
    func padded(_ number: Int, _ width: Int, _ filler: Character) -> String {
      let text = String(number)
      return String(repeating: filler, count: max(0, width - text.count)) + text
    }
    let isRecent = date <= now && date > now - halfYear
    let last =
      isRecent ? "\(padded(civil.hour, 2, "0")):\(padded(civil.minute, 2, "0"))" : padded(civil.year, 5, " ")
    return "\(month) \(padded(civil.day, 2, " ")) \(last)"
  }

  private static func right(_ text: String, _ width: Int) -> [UInt8] {
    [UInt8](repeating: 0x20, count: max(0, width - text.utf8.count)) + Array(text.utf8)
  }

  private static func left(_ text: [UInt8]?) -> [UInt8] {
    let text = text.flatMap { $0.isEmpty ? nil : $0 } ?? [UInt8(ascii: "-")]
    return text + [UInt8](repeating: 0x20, count: max(0, 8 - text.count))
  }
}
