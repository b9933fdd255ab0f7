import HTTPSemantics
import Testing

@Suite struct URIReferenceTests {
  /// RFC 3986 §5.4, all of §5.4.1 and §5.4.2.
  @Test(arguments: [
    ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
    ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
    ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
    (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
    ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
    ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
    ("../../g", "http://a/g"),
    ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
    ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
    ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
    ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
    ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g#s/./x"),
    ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
  ])
  func resolves(_ reference: String, target: String) {
    let base = URIReference("http://a/b/c/d;p?q")
    #expect(URIReference(reference).resolved(against: base).text == target)
  }

  @Test(arguments: [
    ("http://h", "x", "http://h/x"), ("http://h", "?q", "http://h?q"), ("http://h?old", "", "http://h?old"),
    ("http://h/a", "//u:p@i:8/", "http://u:p@i:8/"), ("http://h/a", "a:b", "a:b"),
    ("http://h/a", "./a:b", "http://h/a:b"),
    ("http://h/a/", "../../..", "http://h/"), ("http://h/a", "1:2", "http://h/1:2"),
    ("http://h/a", "/x//y", "http://h/x//y"),
    ("mailto:a", "b", "mailto:b"), ("http://h/a", "//i?q/r", "http://i?q/r"), ("http://h/a", "///x", "http:///x"),
  ])
  func resolvesElsewhere(base: String, reference: String, target: String) {
    #expect(URIReference(reference).resolved(against: URIReference(base)).text == target)
  }

  @Test(arguments: [
    "http://u@h:1/p?q#f", "", "#", "?", "//", "a:", "://", "http:", "?#", "a?b?c#d#e", "http://[::1]/", "%", "::",
  ])
  func nothingIsLostInTakingApart(_ text: String) {
    #expect(URIReference(text).text == text)
  }

  @Test(arguments: [
    ("/a b", "/a%20b"), ("/é", "/%C3%A9"), ("/a%20b", "/a%20b"), ("/100%", "/100%25"), ("/%zz%4", "/%25zz%254"),
    ("/a\"<>\\^`{|}", "/a%22%3C%3E%5C%5E%60%7B%7C%7D"), ("/[x]?[y]", "/%5Bx%5D?%5By%5D"),
    ("http://[::1]:80/", "http://[::1]:80/"), ("http://bücher.example/ü", "http://bücher.example/%C3%BC"),
    ("http://a b/", "http://a%20b/"), ("?a=b&c=d/e?f", "?a=b&c=d/e?f"), ("#a b#c", "#a%20b%23c"),
    ("/-._~!$&'()*+,;=:@", "/-._~!$&'()*+,;=:@"), ("/a\tb", "/a%09b"),
  ])
  func encodes(_ text: String, encoded: String) {
    let result = URIReference(text).percentEncodingIllegalCharacters
    #expect(result.text == encoded)
    #expect(result.percentEncodingIllegalCharacters == result)
  }
}
