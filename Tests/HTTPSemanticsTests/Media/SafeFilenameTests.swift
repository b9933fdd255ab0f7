import HTTPSemantics
import Testing

@Suite struct SafeFilenameTests {
  @Test(
    arguments: [
      ("a.txt", "a.txt"), ("/etc/passwd", "_etc_passwd"), ("../../x", "_.._x"), ("a/../b", "a_.._b"), ("dir/", "dir_"),
      ("a/..", "a_"),
      ("a\\b", "a_b"), ("..", nil), ("../..", nil), ("//", nil), ("", nil),
      (".", nil), ("...", nil), ("...a", "a"), (". .a", "a"), ("  a  ", "a"), ("a. .", "a"), ("a\u{7}b\u{7F}c", "abc"),
      ("photo\u{202E}gpj.exe", "photogpj.exe"), ("\u{200B}.hidden", "hidden"), ("日本語.txt", "日本語.txt"),
      ("/", nil), ("a\u{85}b", "ab"), ("\u{0}", nil), ("a:b", "a:b"),
    ] as [(String, String?)])
  func sanitizes(_ proposed: String, name: String?) {
    #expect(SafeFilename.sanitize(proposed) == name)
  }

  @Test func longNamesKeepTheirExtension() throws {
    let ascii = try #require(SafeFilename.sanitize(String(repeating: "x", count: 300) + ".tar"))
    #expect(ascii.utf8.count == 255)
    #expect(ascii.hasSuffix("x.tar"))
    let wide = try #require(SafeFilename.sanitize(String(repeating: "é", count: 300)))
    #expect(wide == String(repeating: "é", count: 127))
    let dotted = try #require(SafeFilename.sanitize("a." + String(repeating: "y", count: 300)))
    #expect(dotted.utf8.count == 255)
  }
}
