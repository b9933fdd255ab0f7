import Testing

@testable import HTTPSemantics

@Suite struct PathTextTests {
  @Test(arguments: [
    ("index.html", "index-1.html"), ("index", "index-1"), ("/a.b/c", "/a.b/c-1"), ("/a/.hidden", "/a/.hidden-1"),
    ("a.tar.gz", "a.tar-1.gz"), ("a.", "a.-1"), ("ä.ö", "ä-1.ö"),
  ])
  func theNumberStandsBeforeTheExtension(_ path: String, _ expected: String) {
    #expect(PathText.numbered(path, 1) == expected)
    #expect(PathText.numbered(path, 27) == expected.replacing("-1", with: "-27"))
  }
}
