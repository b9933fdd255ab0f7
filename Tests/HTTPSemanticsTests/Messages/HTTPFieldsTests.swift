import HTTPSemantics
import Testing

@Suite struct HTTPFieldsTests {
  @Test(
    arguments: [
      ([], nil),
      (["5"], 5),
      ([" 5\t"], 5),
      (["5", "5"], 5),
      (["5", "6"], nil),
      (["5, 5"], nil),
      (["-5"], nil),
      (["+5"], nil),
      (["5", ""], nil),
      (["9223372036854775807"], Int64.max),
      (["9223372036854775808"], nil),
    ] as [([String], Int64?)])
  func contentLengthIsANumberSaidOnceOrTheSame(values: [String], length: Int64?) {
    var fields = HTTPFields()
    for value in values { fields.append("content-LENGTH", value) }
    #expect(fields.contentLength == length)
  }

  /// A server decides how often a name repeats; joining its values must not take the square of that.
  @Test(.timeLimit(.minutes(1))) func joiningManyValuesTakesLinearTime() {
    let value = String(repeating: "v", count: 254)
    let fields = HTTPFields((0..<200_000).map { _ in HTTPFields.Field(name: "X", value: value) })
    #expect(fields["x"]?.utf8.count == 200_000 * 256 - 2)
  }
}
