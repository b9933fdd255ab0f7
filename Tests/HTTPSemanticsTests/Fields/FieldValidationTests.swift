import HTTPSemantics
import Testing

@Suite struct FieldValidationTests {
  @Test(arguments: ["GET", "M-SEARCH", "x", "!#$%&'*+-.^_`|~09azAZ"])
  func tokensAreMethodsAndNames(_ token: String) {
    #expect(FieldValidation.isMethod(token))
    #expect(FieldValidation.isFieldName(token))
  }

  @Test(arguments: [
    "", "GET ", "A B", "A:B", "A\r\nB", "A\u{0}", "Ä", "A(B", "A/B", "A\"", "A{", "A\u{7F}", "A,B", "A@",
  ])
  func nonTokensAreRefused(_ text: String) {
    #expect(!FieldValidation.isMethod(text))
    #expect(!FieldValidation.isFieldName(text))
  }

  /// RFC 9110 §5.6.2 spelled out, against the masks.
  @Test func tokenMasksMatchTheGrammar() {
    let allowed = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    for byte in UInt8.min...UInt8.max { #expect(byte.isToken == allowed.contains(byte), "\(byte)") }
  }

  @Test(arguments: [
    ("", true), ("plain", true), ("tab\there", true), ("ünïcode", true), ("a\rb", false), ("a\nb", false),
    ("a\u{0}b", false), ("a\u{1B}b", false), ("a\u{7F}", false), ("a\r\nInjected: yes", false),
  ])
  func values(_ value: String, isValid: Bool) {
    #expect(FieldValidation.isFieldValue(value) == isValid)
  }

  @Test(arguments: [
    ("/", true), ("*", true), ("/a?b=c%20d", true), ("http://h/p", true), ("", false), ("/a b", false),
    ("/a\r\nX: y", false), ("/ä", false), ("/\u{7F}", false),
  ])
  func targets(_ target: String, isValid: Bool) {
    #expect(FieldValidation.isTarget(target) == isValid)
  }

  @Test(arguments: [
    ("", true), ("example.org:8080", true), ("[::1]:80", true), ("a b", false), ("a\r\nX: y", false),
    ("user@host", false), ("host/path", false), ("hôst", false),
  ])
  func authorities(_ authority: String, isValid: Bool) {
    #expect(FieldValidation.isAuthority(authority) == isValid)
  }

  @Test(arguments: [
    ("X", " padded\t", "padded"), ("X", "ends in a line\r\n", "ends in a line"), ("X", "", ""), ("X", " \t ", ""),
    ("X", "fol\r\n ded\r\n\t \tagain", "fol ded again"),
  ])
  func whitespaceAroundValuesIsTrimmed(name: String, value: String, sent: String) {
    #expect(FieldValidation.sanitized(name: name, value: value) == .success(.init(name: name, value: sent)))
  }

  @Test(arguments: [
    ("X Y", "v", FieldValidation.Refusal.invalidName("X Y")), ("X", "a\r\nB: c", .invalidValue(name: "X")),
    ("X", "\r\nB: c", .invalidValue(name: "X")), ("X\r\nB", "c", .invalidName("X\r\nB")),
    ("X", "a\n b", .invalidValue(name: "X")), ("X", "a\r b", .invalidValue(name: "X")),
    ("X", "a\r\n b\r\nC: d", .invalidValue(name: "X")),
  ])
  func injectionsAreRefused(name: String, value: String, refusal: FieldValidation.Refusal) {
    #expect(FieldValidation.sanitized(name: name, value: value) == .failure(refusal))
    #expect(!refusal.sentence.isEmpty)
  }

  @Test func validFieldsAreKeptBesideInvalidOnes() {
    let (sent, refused) = FieldValidation.sanitized(["A": "1", "B ": "2", "C": "3\n4", "D": "5"])
    #expect(sent == ["A": "1", "D": "5"])
    #expect(refused == [.invalidName("B "), .invalidValue(name: "C")])
  }

  @Test(arguments: [("host", true), ("CONTENT-LENGTH", true), ("Transfer-encoding", true), ("Accept", false)])
  func framingFieldsAreReservedForTheTransport(name: String, owned: Bool) {
    #expect(FieldValidation.isOwnedByTransport(name) == owned)
  }

  /// What an app may log holds no line end that the app's own string brought in.
  @Test func sentencesRepeatNoLineEnds() {
    let sentence = FieldValidation.Refusal.invalidName("X\r\nForged: yes" + String(repeating: "x", count: 999)).sentence
    #expect(sentence.contains("X\u{FFFD}\u{FFFD}Forged: yes") && sentence.utf8.count < 200)
    #expect(!sentence.utf8.contains { $0 < 0x20 })
  }
}
