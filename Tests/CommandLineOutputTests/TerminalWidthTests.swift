import Testing

@testable import CommandLineOutput

/// Columns of a terminal, as wcwidth(3) counts them.
@Suite struct TerminalWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("über", 4), ("e\u{301}", 1), ("漢字", 4), ("한", 2), ("ｆｕｌｌ", 8), ("ﾊﾝ", 2), ("😀", 2),
    ("👩‍👩‍👧", 2), ("❤\u{FE0F}", 2), ("❤", 1), ("🇩🇪", 2), ("\u{301}", 0), ("\u{200B}", 0), ("…", 1),
  ])
  func countsColumns(_ text: String, _ columns: Int) { #expect(text.terminalColumns == columns) }

  @Test(arguments: [
    ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字", 4, "漢字"), ("漢字", 3, "漢…"), ("漢字", 2, "…"), ("漢字", 0, ""),
    ("ab", -1, ""), ("a漢b", 3, "a…"),
  ])
  func cutsToColumns(_ text: String, _ limit: Int, _ result: String) {
    #expect(text.cut(toColumns: limit) == result)
  }

  @Test func fillsWithSpaces() {
    #expect("漢".padded(toColumns: 4) == "漢  " && "漢".paddedAtStart(toColumns: 4) == "  漢")
    #expect("long".padded(toColumns: 2) == "long")
  }

  @Test func aTableWithWideCharactersIsStraight() {
    var table = TextTable([.init("NAME"), .init("SIZE", .right)])
    table.append(["漢字", "1"])
    table.append(["abcdef", "20"])
    #expect(table.lines == ["NAME    SIZE", "漢字       1", "abcdef    20"])
  }
}
