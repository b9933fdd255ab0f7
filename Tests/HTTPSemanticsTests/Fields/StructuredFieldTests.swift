import HTTPSemantics
import Testing

@Suite struct StructuredFieldTests {
  @Test(
    arguments: [
      ("?1", true), ("?0", false), (" ?1 ", true), ("?1;a=b", true), ("1", nil), ("?2", nil), ("true", nil), ("", nil),
      ("?1, ?0", nil), ("?1 x", nil),
    ] as [(String, Bool?)])
  func booleanIsReadFromOneItem(field: String, value: Bool?) { #expect(StructuredField.boolean(field) == value) }

  @Test(
    arguments: [
      ("0", 0), ("15", 15), (" 7 ", 7), ("9;q=1", 9), ("999999999999999", 999_999_999_999_999),
      ("1000000000000000", nil), ("-1", nil), ("+1", nil), ("1.5", nil), ("\"1\"", nil), ("", nil), ("1, 2", nil),
    ] as [(String, Int64?)])
  func sizeIsAnIntegerOfZeroOrMore(field: String, value: Int64?) { #expect(StructuredField.size(field) == value) }

  @Test(
    arguments: [
      ("max-size=10", ["max-size": 10]), ("a=1, b=2;x, a=3", ["a": 3, "b": 2]), ("a, b=1", ["b": 1]),
      ("a=\"x, b=7\"", [:]), ("a=-1, b=1", ["b": 1]), ("a=(1 2), b=3", ["b": 3]), ("", [:]), ("A=1", nil), ("=1", nil),
      ("a=1,", nil),
    ] as [(String, [String: Int64]?)])
  func sizesAreTheIntegersOfADictionary(field: String, value: [String: Int64]?) {
    #expect(StructuredField.sizes(field) == value)
  }
}
