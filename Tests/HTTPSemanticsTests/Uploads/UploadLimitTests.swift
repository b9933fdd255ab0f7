import HTTPSemantics
import Testing

@Suite struct UploadLimitTests {
  @Test(
    arguments: [
      ("max-append-size=4", 4), ("max-append-size=0", nil), ("max-append-size=x", nil), (nil, nil),
    ] as [(String?, Int64?)])
  func maximumAppendSizeIsPositive(field: String?, maximum: Int64?) {
    #expect(UploadLimit(field).maximumAppendSize == maximum)
  }
}
