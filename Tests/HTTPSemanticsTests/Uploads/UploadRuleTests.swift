import HTTPSemantics
import Testing

@Suite struct UploadRuleTests {
  @Test(
    arguments: [
      ("?1", true), ("?0", false), (" ?1 ", true), ("?1;a=b", true), ("1", nil), ("?2", nil), ("true", nil), ("", nil),
    ] as [(String, Bool?)])
  func booleans(field: String, value: Bool?) { #expect(StructuredItem.boolean(field) == value) }

  @Test(
    arguments: [
      ("0", 0), ("15", 15), (" 7 ", 7), ("9;q=1", 9), ("999999999999999", 999_999_999_999_999),
      ("1000000000000000", nil), ("-1", nil), ("+1", nil), ("1.5", nil), ("\"1\"", nil), ("", nil),
    ] as [(String, Int64?)])
  func integers(field: String, value: Int64?) { #expect(StructuredItem.integer(field) == value) }

  @Test(
    arguments: [
      ("max-size=10", ["max-size": 10]), ("a=1, b=2;x, a=3", ["a": 3, "b": 2]), ("a, b=1", ["b": 1]),
      ("a=\"x\"", [:]), ("A=1", nil), ("=1", nil), ("", nil),
    ] as [(String, [String: Int64]?)])
  func dictionaries(field: String, value: [String: Int64]?) { #expect(StructuredItem.integers(field) == value) }

  @Test(arguments: [("3", 3), ("5", 5), ("6", 6), ("8", 8), ("2", nil), ("9", nil), ("x", nil)] as [(String, Int?)])
  func versions(field: String, number: Int?) { #expect(UploadVersion(field)?.number == number) }

  @Test func versionThreeSaysTheOpposite() throws {
    let three = try #require(UploadVersion("3"))
    #expect(three.creationFields["Upload-Incomplete"] == "?0")
    #expect(!three.creationFields.contains("Upload-Complete"))
    let six = UploadVersion.preferred.appendFields(offset: 5, isComplete: false)
    #expect(six["Upload-Complete"] == "?0" && six["Upload-Offset"] == "5")
    #expect(six["Content-Type"] == "application/partial-upload")
    #expect(UploadAnswer(HTTPFields(["Upload-Incomplete": "?0"])).isComplete == true)
  }

  @Test(
    arguments: [
      (200, ["Upload-Offset": "5", "Upload-Complete": "?0"], .append(from: 5)),
      (204, ["Upload-Offset": "10", "Upload-Incomplete": "?1"], .append(from: 10)),
      (204, ["Upload-Offset": "0"], .append(from: 0)),
      (204, ["Upload-Offset": "10", "Upload-Complete": "?1"], .complete),
      (204, ["Upload-Offset": "11"], .impossible("The server says that it has more than there is.")),
      (204, [:], .impossible("The server does not say how much it has.")),
      (204, ["Upload-Offset": "-1"], .impossible("The server does not say how much it has.")),
      (204, ["Upload-Offset": "1", "upload-offset": "2"], .impossible("The server does not say how much it has.")),
      (204, ["Upload-Offset": "1", "Upload-Limit": "max-size=9"], .impossible("The server takes 9 bytes at most.")),
      (404, ["Upload-Offset": "1"], .impossible("The server does not know the upload any more (status 404).")),
      (503, [:], .later), (423, [:], .later),
    ] as [(Int, KeyValuePairs<String, String>, UploadContinuation)])
  func continuations(status: Int, fields: KeyValuePairs<String, String>, expected: UploadContinuation) {
    #expect(UploadContinuation.decide(status: status, answer: UploadAnswer(HTTPFields(fields)), length: 10) == expected)
  }

  @Test(
    arguments: [
      ("max-append-size=4", 4), ("max-append-size=0", nil), ("max-append-size=x", nil), (nil, nil),
    ] as [(String?, Int64?)])
  func limits(field: String?, maximum: Int64?) { #expect(UploadLimit(field).maximumAppendSize == maximum) }
}
