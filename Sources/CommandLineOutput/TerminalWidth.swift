extension StringProtocol {
  /// How many columns of a terminal it takes: East Asian wide characters and emoji take two (Unicode Standard Annex #11,
  /// as wcwidth(3) has it), marks that stand alone none.
  package var terminalColumns: Int { reduce(0) { $0 + $1.terminalColumns } }

  /// Its beginning, where it is wider than so many columns, with `…` at the end.
  package func cut(toColumns limit: Int) -> String {
    if terminalColumns <= limit { return String(self) }
    var text = ""
    var room = limit - 1
    for character in self {
      room -= character.terminalColumns
      if room < 0 { break }
      text.append(character)
    }
    return limit > 0 ? text + "…" : ""
  }

  /// With spaces at its end up to so many columns.
  package func padded(toColumns width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - terminalColumns))
  }

  /// With spaces before it up to so many columns.
  package func paddedAtStart(toColumns width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - terminalColumns)) + self
  }
}

extension Character {
  /// The first scalar decides, since the others are drawn in its place; but U+FE0F behind it asks for an emoji.
  fileprivate var terminalColumns: Int {
    guard let first = unicodeScalars.first else { return 0 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    let isEmoji = first.properties.isEmojiPresentation || unicodeScalars.dropFirst().first == "\u{FE0F}"
    return isEmoji || Character.isWide(first) ? 2 : 1
  }

  /// The blocks in which every assigned character is wide or fullwidth.
  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
      0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1_6FE0...0x1_B2FF,
      0x2_0000...0x3_FFFD:
      true
    default: false
    }
  }
}
