import Testing

@testable import CommandLineOutput

struct TextTableTests {
  @Test func columnsAreAsWideAsTheirWidestCell() {
    var table = TextTable([.init("ID", .right), .init("NAME"), .init("SIZE", .right), .init("WHY")])
    table.append(["7", "a", "1 KB"])
    table.append(["12", "longer", "200 MB", "because", "beyond"])
    #expect(
      table.lines == [
        "ID  NAME      SIZE  WHY",
        " 7  a         1 KB",
        "12  longer  200 MB  because",
      ])
  }

  @Test(arguments: [
    ("plain é 漢", "plain é 漢"), ("two\nlines", "two\u{FFFD}lines"), ("\u{1B}[2J", "\u{FFFD}[2J"),
    ("a\u{202E}b", "a\u{FFFD}b"), ("\u{9B}1m", "\u{FFFD}1m"), ("\t", "\u{FFFD}"),
  ]) func controlsAreShownNotSent(_ text: String, _ shown: String) { #expect(TextTable.printable(text) == shown) }
}
