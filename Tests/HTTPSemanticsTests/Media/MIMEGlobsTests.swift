import HTTPSemantics
import Testing

@Suite struct MIMEGlobsTests {
  private static let machine = """
    # A comment
    80:text/html:*.html
    60:application/x-sharedlib:*.so.[0-9]*
    55:application/x-compressed-tar:*.tar.gz
    50:application/gzip:*.gz
    50:text/x-c++src:*.C:cs
    50:text/x-c++src:*.C
    50:text/x-csrc:*.c:cs
    50:text/x-csrc:*.c
    50:text/x-makefile:makefile
    50:application/x-trash:*~
    50:video/mpeg:[0-9][0-9][0-9].vdr
    50:audio/x-first:*.tie
    50:audio/x-second:*.tie
    50:image/jpeg:*.jpg
    50:image/x-negated:a[!0-9]?.neg
    50:image/x-upper:*.UP:cs
    50:image/x-withdrawn:*.gone
    10:text/x-readme:readme*
    50:malformed:*.bad
    many:text/plain:*.bad
    50:text/plain

    """

  private static let user = """
    50:image/x-withdrawn:__NOGLOBS__
    50:image/x-withdrawn:*.here
    50:audio/x-user:*.tie
    40:text/x-light:*.html
    """

  @Test(
    arguments: [
      ("index.html", "text/html"), ("INDEX.HTML", "text/html"), ("a.tar.gz", "application/x-compressed-tar"),
      ("a.b.gz", "application/gzip"), ("A.TAR.GZ", "application/x-compressed-tar"), (".gz", "application/gzip"),
      ("libc.so.6", "application/x-sharedlib"), ("libc.so.6.1", "application/x-sharedlib"), ("libc.so.x", nil),
      ("main.c", "text/x-csrc"), ("main.C", "text/x-c++src"), ("Makefile", "text/x-makefile"), ("makefile.am", nil),
      ("a.txt~", "application/x-trash"), ("001.vdr", "video/mpeg"), ("01.vdr", nil), ("a.tie", "audio/x-first"),
      ("README.first", "text/x-readme"), ("readme.html", "text/html"), ("abc.neg", "image/x-negated"), ("a1c.neg", nil),
      ("a.UP", "image/x-upper"), ("a.up", nil), ("a.gone", "image/x-withdrawn"), ("a.bad", nil), ("", nil),
      ("html", nil),
    ] as [(String, String?)])
  func theHeaviestThenTheLongestPatternCounts(_ name: String, _ type: String?) {
    let globs = MIMEGlobs(files: [Array(Self.machine.utf8)])
    #expect(globs.mediaType(ofFileNamed: name.utf8) == type, "\(name)")
  }

  @Test(
    arguments: [
      ("a.tie", "audio/x-user"), ("a.gone", nil), ("a.here", "image/x-withdrawn"), ("a.html", "text/html"),
    ] as [(String, String?)])
  func theUsersFileWinsOverTheMachines(_ name: String, _ type: String?) {
    let globs = MIMEGlobs(files: [Array(Self.machine.utf8), Array(Self.user.utf8)])
    #expect(globs.mediaType(ofFileNamed: name.utf8) == type, "\(name)")
  }

  /// A name of many letters against a pattern of many stars takes no time to speak of.
  @Test func manyStarsAreMatchedInBoundedTime() {
    let pattern = String(repeating: "*a", count: 40) + "*b"
    let globs = MIMEGlobs(files: [Array("50:a/b:\(pattern)".utf8)])
    #expect(globs.mediaType(ofFileNamed: String(repeating: "a", count: 4_000).utf8) == nil)
  }
}
