import HTTPSemantics
import Testing

/// Parameters as Content-Type has them, the one field that exposes them whole.
@Suite struct FieldParametersTests {
  @Test(
    arguments: [
      ("", []), (";", []), (";;; ", []), (";a=1", [("a", "1")]), ("; A=1 ;b = 2", [("a", "1"), ("b", "2")]),
      (";a=1;a=2", [("a", "1")]), (#";a="x;y,z""#, [("a", "x;y,z")]), (#";a="q\"uo\\te""#, [("a", #"q"uo\te"#)]),
      (#";a="open"#, [("a", "open")]), (#";a="x"junk;b=2"#, [("a", "x"), ("b", "2")]), (";flag;b=2", [("b", "2")]),
      (";a=", [("a", "")]), (";=1;b=2", [("b", "2")]), (";a=1, text/b;c=2", [("a", "1")]), (#";a="\"#, [("a", "\\")]),
    ] as [(String, [(String, String)])])
  func parameters(_ text: String, expected: [(String, String)]) {
    let found = MediaType(parsing: "text/plain" + text)?.parameters.all ?? []
    #expect(found == expected.map { .init(name: $0.0, value: $0.1) })
  }
}
