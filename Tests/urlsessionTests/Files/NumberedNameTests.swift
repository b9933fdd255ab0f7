import Testing

@testable import urlsession

struct NumberedNameTests {
  @Test(arguments: [
    ("report.pdf", 0, "report.pdf"), ("report.pdf", 1, "report (1).pdf"), ("report", 2, "report (2)"),
    ("a.tar.gz", 1, "a (1).tar.gz"), (".tar.gz", 1, ".tar (1).gz"), (".hidden", 1, ".hidden (1)"),
    ("v1.2", 10, "v1 (10).2"), ("ends.", 1, "ends (1)."),
  ]) func numbered(_ name: String, _ number: Int, _ result: String) {
    #expect(NumberedName.name(name, number: number) == result)
  }

  @Test func longNamesKeepNumberAndExtension() {
    let name = NumberedName.name(String(repeating: "é", count: 125) + ".pdf", number: 12)
    #expect(name.utf8.count <= 255)
    #expect(name.hasSuffix("é (12).pdf"))
  }

  @Test(
    arguments: [
      ("file", "file"), ("a/b", "b"), ("../../etc/passwd", "passwd"), ("..", "download"), (".bashrc", "download"),
      ("", "download"), ("/", "download"), (nil, "download"), ("nul\u{0}", "download"),
    ] as [(String?, String)]) func nameNeverLeavesItsFolder(_ proposed: String?, _ name: String)
  {
    #expect(NumberedName.safe(proposed) == name)
  }
}
